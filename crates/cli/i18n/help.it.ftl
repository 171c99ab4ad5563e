# L'aiuto della riga di comando in italiano; in inglese sta in `args.rs`. Una chiave è fatta del comando e
# dell'argomento.

## Parole
help-default = predefinito: { $value }
help-values = valori possibili: { $values }
help-described-values = Valori possibili:
help-exit-status = Stato d'uscita: 0 fatto; 1 forme, dtype o valori non vanno insieme; 2 la riga di comando non è comprensibile, un file non si può leggere o scrivere, o la memoria non basta; 130 interrotto con Ctrl-C (143 da SIGTERM, 129 da SIGHUP).

## Rifiuti
parser-unknown-argument = argomento inatteso `{ $argument }`
parser-unknown-command = comando sconosciuto `{ $name }`
parser-missing = manca { $argument }
parser-value-missing = `{ $argument }` richiede un valore
parser-invalid-value = valore non valido `{ $value }` per `{ $argument }`
parser-refused-value = valore non valido `{ $value }` per `{ $argument }`: { $why }
parser-conflict = `{ $argument }` non va insieme a { $other }
parser-twice = `{ $argument }` è dato più volte
parser-see-help = `zs --help` mostra comandi e opzioni, `zs help COMANDO` quelle di un comando

## zs
help-zs-about = Il broadcasting di PyTorch nella shell: spiegare forme, calcolare con array in file
help-zs-examples =
    Esempi:
      zs                                         la visita guidata: che cosa fa il broadcasting
      zs explain 5,1,4,1 3,1,2                   che cosa succede a queste forme
      zs explain x=32,10 y=32 --op mul           perché non vanno insieme
      zs eval '[[1, 2, 3]] + [[4], [5], [6]]'    calcolare
      zs eval 'x - x.mean(0)' x=a.npy -o b.npy   file in ingresso, un file in uscita
      zs info model.safetensors                  che cosa c'è in un file
help-zs-color = Se usare i colori
help-zs-help = Mostra l'aiuto
help-zs-version = Mostra la versione

## zs explain
help-explain-about = Disegna che cosa fa il broadcasting a delle forme, o perché non può
help-explain-examples =
    Esempi:
      zs explain 5,1,4,1 3,1,2
      zs explain n,1 m
      zs explain '(1, 3, 1)' '(3, 1, 7)' --in-place --op add
      zs explain image=photo.npy mean=3 --op sub
      zs explain m.safetensors:weight 1024 --format json
      zs explain 'row=[[1, 2, 3]]' 'column=[[4], [5], [6]]' --op add
      zs explain pred=32,1 target=32 --op sub -o loss.svg
      zs explain 5,2,4,1 3,1,1 --lang en
help-explain-shapes = Size (5,1,4,1 o '(5, 1)' o '()', alcune anche nomi: n,1), un file che ne ha, o valori ('[[1, 2]]', 5:i64); davanti, se si vuole, NOME=
help-explain-op = L'operazione, per nome o simbolo
help-explain-in_place = Scrive il risultato nel primo operando
help-explain-format = Per persone o per programmi; di solito come dice l'estensione di FILE, altrimenti testo
help-explain-format-text = Le forme allineate, i passi, i rimedi, per un terminale
help-explain-format-json = Una riga di JSON, stabile
help-explain-format-svg = La figura: cubi, e frecce dove vengono espansi
help-explain-format-html = Una pagina con la figura e il testo, che non richiede altri file
help-explain-lang = La lingua, en o it; di solito quella del locale (LC_ALL, LC_MESSAGES, LANG), altrimenti l'inglese
help-explain-output = Scrive in un file invece che sullo standard output: .txt, .json, .svg o .html
help-explain-force = Sostituisce il file, se c'è

## zs eval
help-eval-about = Calcola un'espressione di array
help-eval-examples =
    Esempi:
      zs eval '[[1, 2, 3]] * 5'
      zs eval '(x - mean(x, 0, keepdim=True)) / std(x, 0)' x=table.npy
      zs eval 'where(m, x, 0)' x=a.npz:x m=a.npz:mask -o kept.npy
      zs eval '((a[:, None] - b) ** 2).sum(-1)' 'a=rand(99,8)' 'b=rand(99,8)' --plan
      zs eval 'x @ w' x=x.npy w=m.safetensors:weight --dry-run
      zs eval '(y - t).abs().mean()' y=y.npy t=t.npy --policy mutual_stretch=error
      zs eval '(x - x.mean(0)) / x.std(0)' x=huge.npy -o y.npy --max-memory 256MiB
      zs eval 'x.mean(0), x.std(0)' x=huge.npy
      zs eval 'price.median()' price=table.csv:price --json
      cat x.npy | zs eval 'x * 2' x=- -o - | zs eval 'x.max(0)' x=-
help-eval-notes = Il linguaggio è una piccola parte di quello di Python: + - * / // % ** @ & | ^ << >> ~ e confronti, chiamate f(x, 0, keepdim=True), metodi x.sum(0), x.T, indici x[:, None], x[..., ::-1] e x[x > 0], liste come tensori, le costanti inf, nan, pi ed e. Le funzioni hanno i nomi di PyTorch; `zs help functions` le elenca. Un numero da solo resta un numero, come in Python, e prende il dtype del tensore che incontra.
help-eval-expression = L'espressione
help-eval-bindings = Valori dei nomi: 5, 2.5, '[[1, 2]]', '[[1, 2]]:f32', x.npy, m.safetensors:weight, a.npz:x, s.zarr/path, t.csv, t.csv:colonna, o - per lo standard input (npy, npz o CSV)
help-eval-output = Scrive il risultato in un file .npy, .npz, .safetensors, .zarr, .csv o .tsv, o sullo standard output (-), invece di stamparlo; una volta per ognuno di più risultati
help-eval-format = Che cosa scrive `-o -` sullo standard output; se non si dice nulla, npy
help-eval-format-npy = Come NumPy scrive gli array
help-eval-format-csv = Una riga per ogni riga
help-eval-device = Calcola su questo dispositivo: `cpu`, `cuda` o `cuda:1`; i file si leggono allora per intero. I risultati hanno gli stessi bit
help-eval-threads = Calcola con questo numero di thread; di solito quanti ne dice RAYON_NUM_THREADS, altrimenti uno per core
help-eval-max_memory = Tiene in memoria al più questa quantità, come 512MiB, e rifiuta ciò che ne richiede di più; di solito metà di quella disponibile
help-eval-mmap = Calcola sulle pagine dei file .npy e .safetensors invece di leggerli. Nel frattempo nessun altro programma deve cambiarli: il risultato sarebbe sbagliato, o zs verrebbe terminato da SIGBUS
help-eval-policy = Che cosa fare del broadcasting implicito: CLASSE=allow|warn|error o max_bytes=SIZE; si può ripetere. Le classi sono rank_added, stretched, mutual_stretch, same_numel e blow_up, che è un risultato oltre max_bytes, altrimenti oltre 1GiB
help-eval-force = Sostituisce il file d'uscita, se c'è, quando il risultato è completo
help-eval-compress = Come comprimere i blocchi di un risultato .zarr; se non si dice nulla, lz4
help-eval-compress-none = Per niente: veloce quanto il disco
help-eval-compress-lz4 = Con LZ4 in Blosc, con i byte rimescolati
help-eval-compress-gzip = Con gzip
help-eval-compress-zstd = Con Zstandard, lentamente
help-eval-zarr_format = La versione del formato di un risultato .zarr; se non si dice nulla, 3
help-eval-zarr_format-2 = Per i programmi che non leggono la versione 3
help-eval-zarr_format-3 = La più recente
help-eval-plan = Dice prima, sullo standard error, che cosa verrà eseguito: passate, operazioni, byte, e come si leggono i file
help-eval-dry_run = Controlla tutto e dice quale sarebbe il risultato, che cosa si legge e quanta memoria occorre; non fa nulla
help-eval-quiet = Non mostra l'avanzamento
help-eval-json = Stampa i risultati come una riga di JSON; con -o riassume che cosa è stato scritto, e con --dry-run che cosa lo sarebbe

## zs info
help-info-about = Elenca gli array nei file: nomi, dtype, forme, byte
help-info-examples =
    Esempi:
      zs info photo.npy
      zs info weights.npz model.safetensors
      zs info table.csv
      zs info climate.zarr --json
      cat x.npy | zs info -
help-info-files = File: .npy, .npz, .safetensors, .csv, .tsv, store Zarr, o - per lo standard input (npy, npz o CSV); un solo array come m.npz:x. Senza file, che cosa calcola qui: l'insieme di istruzioni, se le formule diventano codice macchina, i thread
help-info-json = Stampa una riga di JSON

## Altri comandi
help-completions-about = Stampa uno script che completa i comandi in una shell
help-completions-shell = La shell
help-man-about = Stampa una pagina di manuale
help-man-command = Il comando di cui tratta la pagina; senza, tratta di zs
help-help-about = Mostra l'aiuto, di un comando se è indicato; `functions` elenca le funzioni delle espressioni
help-help-command = Il comando di cui tratta la pagina; senza, tratta di zs
