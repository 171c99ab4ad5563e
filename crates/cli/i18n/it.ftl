# Tutte le frasi della shell, in italiano. I numeri scelgono il plurale; nomi, forme e chiamate restano come
# sono. L'aiuto sta in `help.it.ftl`, gli errori del motore in `engine.it.ftl`.

## Il linguaggio delle espressioni
not-of-the-language = `{ $text }` non fa parte del linguaggio
write = scrivere { $text }
write-or = scrivere { $text }, oppure { $other }
write-with-parentheses = scrivere `{ $text }` con i confronti tra parentesi, oppure { $other }
write-a-straight-quote = scrivere un apice dritto
one-tensor-from-others = un'espressione calcola un tensore a partire da altri
names-are-ascii = i nomi sono fatti di lettere ASCII, cifre e `_`
no-escapes = le parole tra virgolette non hanno sequenze di escape
quote-never-closed = questo apice non viene mai chiuso
unexpected-character = carattere inatteso `{ $character }`
to-multiply-write = per moltiplicare, scrivere `{ $product }`
number-runs-into-name = un numero è attaccato a un nome
underscore-between-digits = in un numero, `_` sta tra due cifre
unreadable-number = questo numero non si può leggere
number-too-large = questo numero è troppo grande per un float
infinity-is-inf = per l'infinito, scrivere `inf`
no-leading-zero = un intero non comincia con 0
integer-too-large = questo intero non sta in 64 bit
float-has-a-point = per un float, scriverlo con il punto: `1e20`, `5.0`
operator-not-comma = qui serve un operatore, non `,`
empty-expression = l'espressione è vuota
for-instance = per esempio: { $command }
too-many-parts = l'espressione ha più di { $most } parti
numbers-in-a-file = mettere i numeri in un file
expected-but-end = qui serve { $expected }, ma l'espressione finisce
closes-nothing = questa `{ $symbol }` non chiude nulla
ellipsis-in-an-index = `...` sta solo in un indice, come in `x[..., 0]`
to-compare-write = per confrontare, scrivere `==`; i nomi ricevono i valori dopo l'espressione: { $command }
expected = qui serve { $expected }, non { $found }
an-operator = un operatore
an-operand = un operando
an-index = un indice
a-method-name = il nome di un metodo
either-sign = `{ $one }` o `{ $other }`
a-name = un nome
a-number = un numero
a-quoted-word = una parola tra virgolette
a-tensor = un tensore
a-list = una lista
a-dtype = un dtype
nested-too-deep = l'espressione ha più di { $most } livelli di annidamento
comparisons-do-not-chain = i confronti non si concatenano
only-functions-are-called = si possono chiamare solo funzioni e metodi
never-closed = questa `{ $open }` non viene mai chiusa
does-not-close = questa `{ $other }` non chiude la `{ $open }`
argument-without-name = un argomento senza nome ne segue uno con un nome
index-missing = manca un indice
all-elements = per tutti gli elementi, scrivere `x[:]`
slice-has-three-parts = uno slice ha tre parti

## Nomi e argomenti
unknown-name = nome sconosciuto `{ $name }`
is-a-function = `{ $name }` è una funzione
is-a-method = `{ $name }` è un metodo
call-it = chiamarla, come in { $call }
call-method = chiamarlo, come in { $call }
functions-stand-alone = funzioni e dtype stanno da soli: exp(x) e f32, non torch.exp(x) e torch.float32
did-you-mean = forse si intendeva `{ $name }`?
names-get-values = i nomi ricevono i valori dopo l'espressione, come in { $name }=5 o { $name }=x.npy
is-no-function = `{ $name }` non è una funzione
unknown-function = funzione sconosciuta `{ $name }`
is-no-tensor = `{ $name }` non è un tensore
add-dry-run = per la forma e il dtype del risultato, aggiungere --dry-run
unknown-attribute = attributo sconosciuto `{ $name }`
attributes = ci sono .T, .mT, .real e .imag
unknown-dtype = dtype sconosciuto `{ $name }`
an-integer = un intero
no-negative-number = un numero non negativo
true-or-false = True o False
some-dtype = un dtype, come 'f32'
list-of-tensors = una lista di tensori
tuple-of-tensors = una tupla di tensori
two-lists = due liste di dimensioni
dim-or-other = `dim` oppure `other`, non entrambi
too-many-arguments = troppi argomenti
given-twice = `{ $name }` è dato due volte
no-argument = non c'è un argomento `{ $name }`
missing = manca `{ $name }`
called-as = si chiama come { $usage }
is-no-operand = { $kind } non è un operando
list-expected = nella dim { $dim } serve una lista, non { $kind }
tensors-are-no-tensor = una lista di tensori non è un tensore
first-of-them = con [0] dopo la lista si prende il primo; stack([a, b]) e cat([a, b]) li uniscono
list-holds-numbers = una lista contiene numeri, non { $kind }
does-not-fit = { $number } non sta in { $dtype }
unsigned-has-a-dtype = sta in u64, come in [18446744073709551615]:u64; per un float, scriverlo con il punto: `1e20`, `5.0`
tensor-out-of-range = l'indice { $place } è fuori intervallo: ci sono { $count } tensori
is-no-index = { $kind } non è un indice
indices = un indice è un intero, uno slice, None, `...`, una maschera o interi, come in x[x > 0] e x[[0, 2]]
slice-of-integers = le parti di uno slice sono interi, non { $kind }
only-tensors-are-written = si può scrivere solo su un tensore, non su una vista, un calcolo o un numero
writes-to-x = x.add_(y) scrive su x; negli altri casi, scrivere x + y
takes-no-dtype = { $call } non prende un dtype
convert-the-result = convertire il risultato, come in x.to(f64)
wants-dims = { $name } dev'essere { $wanted }, non un tensore di { $found ->
    [one] 1 dimensione
   *[other] { $found } dimensioni
}
a-vector = un vettore
a-matrix = una matrice
a-batch-of-matrices = una serie di matrici (3 dimensioni)
one-of-two = `{ $name }` è '{ $one }' o '{ $other }', non '{ $found }'
tilde-needs-integer = `~` richiede un intero
result-too-wide = il risultato non sta in 64 bit
division-by-zero = divisione per zero
negative-shift = uno scorrimento non può essere negativo
result-too-large = il risultato è troppo grande per un float
not-of-these-numbers = `{ $op }` non è definito per questi numeri
shape-depends-on-elements = la forma di questa parte dipende dagli elementi, che una prova a vuoto non calcola: di ciò che segue non si sa nulla
convert-one = convertire uno dei due, come in x.to(i64)
convert-operand = convertire l'operando, come in { $call }
comparison-makes-mask = un confronto come `x > 0` dà una maschera

## Forme e valori sulla riga di comando
shape-is-written = una forma si scrive 5,1,4,1 o (5, 1, 4, 1), e () non ha dimensioni; i valori sono annidati o hanno un dtype, come [[1, 2]] e 5:i64
never-closed-by = questa `{ $open }` non viene mai chiusa da una `{ $close }`
empty-shape = la forma è vuota
size-too-large = questa size è troppo grande per qualsiasi tensore
size-missing = qui manca una size
size-negative = una size non può essere negativa
sizes-do-not-nest = le size non si annidano
sizes-and-commas = le size sono separate da virgole
size-is-whole = una size è un numero intero
name-and-value = qui serve NOME=VALORE, come in x=5 o x=image.npy
value-missing = manca il valore
neither-number-nor-file = questo non è né un numero né un file leggibile
a-value-is = un valore è un numero o una lista come [[1, 2, 3]], eventualmente con :dtype, oppure un file che termina in .npy, .npz, .safetensors, .zarr, .csv o .tsv, con :NOME per uno dei suoi array, o - per lo standard input

## Opzioni
rule-is-written = una regola si scrive come in mutual_stretch=error o max_bytes=2GiB
policy-classes = le classi di broadcasting sono { $names }; e c'è max_bytes
policy-actions = una policy dice allow, warn o error
element-by-element = per combinarli elemento per elemento: { $call }
number-of-threads = scrivere un numero da 1 a { $most }
set-the-variable = dare alla variabile un altro valore, o nessuno
cannot-start-threads = impossibile avviare { $count } thread: { $error }
ask-for-fewer = chiederne di meno, come in --threads 2
amount-is-written = scrivere un numero di byte, o un'unità come in 512MiB o 1.5GB
unknown-option = opzione sconosciuta `{ $option }`
list-of-options = `zs eval --help` elenca le opzioni; di due segni meno, mettere il secondo tra parentesi: -(-x)
has-a-value = `{ $name }` ha già un valore
has-a-shape = `{ $name }` ha già una forma
standard-input-once = lo standard input si legge una volta sola, e più nomi sono `-`
unused-name = nota: l'espressione non usa `{ $name }`
no-command = non c'è un comando `{ $name }`
there-are = ci sono { $names }
unknown-operation = operazione sconosciuta `{ $name }`
operations-have-names = le operazioni hanno i nomi di PyTorch, come in --op add, o simboli, come in --op +
combines-dimensions = `{ $name }` combina dimensioni e non fa broadcasting
is-a-product = `{ $name }` combina dimensioni, come i prodotti di matrici
is-not-element-wise = `{ $name }` non opera elemento per elemento
shape-of-product = per la forma di un prodotto: zs eval 'a @ b' 'a=zeros(3, 4)' 'b=zeros(4, 5)' --dry-run
explain-element-wise = si spiegano le operazioni elemento per elemento, come in --op add
takes-operands = `{ $name }` prende { $most ->
    [one] { $range } operando
   *[other] { $range } operandi
}, e { $count ->
    [one] la forma data è 1
   *[other] le forme date sono { $count }
}
from-to = da { $first } a { $last }
named-sizes-in-text = le size che sono nomi si spiegano solo come testo; indicare numeri
values-and-names = i valori non vanno con size che sono nomi; indicare una forma
format-ends-in = { $path }: un file di questo formato termina in .{ $ending }
ending-decides = senza --format, decide l'estensione del file
unknown-ending = { $path }: estensione sconosciuta
explanation-endings = una spiegazione va in .txt, .json, .svg o .html
sizes-of-dim-differ = le size { $size } e { $other } della dimensione { $dim } sono diverse, e nessuna delle due è 1
equal-or-one = { $sizes } devono essere uguali; dove una è 1, il risultato ha l'altra
letters-grow =
    Nota: il risultato ha { $elements } elementi, più di OGNI operando ({ $sizes }).
    È giusto per una tabella di tutte le coppie; altrove, per esempio in una loss, è un
    errore frequente che nessuno segnala.
letters-by-element = Elemento per elemento: { $column }.squeeze(-1), o { $row }.unsqueeze(-1).
equal-in-place = { $sizes } devono essere uguali
equal-or-one-in-place = { $size } dev'essere { $own }, o 1
grows-in-place = il tensore su cui si scrive ha forma { $output }, ma il broadcasting dà { $broadcast }
and = { $first } e { $last }
broadcast-to = { $names }: il broadcasting di { $shapes } dà { $result }
broadcast-to-unless-one = { $names }: il broadcasting di { $shapes } dà { $result } se nessuna size è 1
result = risultato

## Quantità
bytes = { $count ->
   *[other] { $shown } byte
}

## Calcoli
memory-taken = questo occupa { $amount } di memoria, e --max-memory ne ammette { $limit }
memory-taken-besides = questo occupa { $amount } di memoria oltre ai { $others } già occupati, e --max-memory ne ammette { $limit }
memory-needed-allowed = servono { $needed } di memoria, e --max-memory ne ammette { $limit }: { $reason }
memory-needed-available = servono { $needed } di memoria, e se ne possono occupare { $limit }, metà di quella ora disponibile: { $reason }
results-and-outputs = { $results ->
    [one] c'è 1 risultato
   *[other] ci sono { $results } risultati
}, e { $outputs ->
    [one] 1 uscita
   *[other] { $outputs } uscite
}
output-for-each = -o compare una volta per ogni risultato, come in: { $command }
reads-and-holds = { $passes ->
    [one] legge { $read } in 1 passata, tiene in memoria al più { $memory }
   *[other] legge { $read } in { $passes } passate, tiene in memoria al più { $memory }
}
force-without-output = --force sostituisce un file, e manca -o
name-the-output = indicare il file con -o
format-without-stream = --format dice che cosa va sullo standard output, e manca `-o -`
stream-or-ending = aggiungere -o -; il formato di un file è quello della sua estensione, come in -o y.csv
option-without-store = { $option } riguarda i risultati .zarr, e non ce n'è
write-a-store = scrivere uno store, come in -o y.zarr
output-twice = due risultati si scrivono in { $output }
output-of-its-own = dare a ognuno un'uscita propria
exists = { $path }: esiste già
force-replaces = --force lo sostituisce, quando il risultato è completo
terminal-and-npy = lo standard output è un terminale, e .npy non è testo
format-csv = --format csv scrive testo
json-in-the-way = --json stampa una riga dove va il risultato; scriverlo in un file
no-known-format = { $path }: l'estensione non indica un formato noto
written-formats = i risultati si scrivono in .npy, .npz, .safetensors, .zarr, .csv o .tsv
output-unwritable = impossibile scrivere l'uscita: { $error }
interrupted = errore: il calcolo è stato interrotto
pass-of = passata { $pass } di { $passes }
done-of = { $percent } %: { $done } di { $all }, { $pace }
pace = { $rate }/s, mancano { $seconds } s

## Tabelle e file
in-file = { $file }: { $problem }
standard-input = standard input
standard-output = standard output
cannot-read-it = impossibile leggerlo: { $error }
no-number-in = riga { $line }, { $column }: `{ $cell }` non è un numero
column-numbered = colonna { $number }
column-named = colonna `{ $name }`
table-empty = non contiene nulla
table-of-one-line = la sua unica riga, `{ $line }`, sarebbe di nomi: i numeri si separano con virgole, punti e virgola, tabulazioni o spazi
take-a-column = prendere una delle colonne di numeri, come { $argument }: { $columns }
columns-of-one-name = { $count } colonne si chiamano `{ $name }`
no-column-without-names = non c'è una colonna `{ $name }`: la prima riga non ha nomi
no-column = non c'è una colonna `{ $name }`; ci sono { $names }
table-has-two-dims = una tabella ha al più due dimensioni, e il risultato ne ha { $ndim }
write-npy-or-reshape = scrivere .npy, o cambiarne la forma, come in x.flatten(1)
arrays = { $count } array
of-members = { $arrays } su { $count } membri
a-table = tabella di { $rows ->
    [one] 1 riga
   *[other] { $rows } righe
} e { $columns ->
    [one] 1 colonna
   *[other] { $columns } colonne
}
big-endian = big-endian
fortran-order = ordine Fortran
cannot-be-read = non si può leggere
cannot-be-read-since = non si può leggere: { $why }

## L'elenco delle funzioni
functions-called-as = Le funzioni si chiamano come f(x, dim=0), o come metodi, x.f(dim=0). I parametri con un valore predefinito si possono omettere, quelli dopo * vogliono il nome. I metodi in-place terminano in un trattino basso, come x.add_(y). I dtype sono f32, i64 e così via. Le chiamate di rand e randn senza seed hanno i seed 0, 1, 2 e così via, prima quelle degli operandi: i numeri cambiano da una chiamata all'altra e sono gli stessi nel calcolo successivo.
functions-of-one = Un operando
functions-of-two = Due operandi
functions-of-more = Più operandi
functions-reduce = Riduzioni
functions-formulas = Formule
functions-statistics = Statistiche e confronti
functions-view = Viste
functions-multiply = Prodotti
functions-join = Tensori messi insieme
functions-move = Elementi ripetuti, spostati, ordinati, scelti e contati
functions-parts = Parti, e più tensori
functions-write = Copie in cui si scrivono elementi
functions-make = Tensori creati
functions-convert = Conversioni e copie

## Etichette
error = errore
warning = avviso
note = nota
help = aiuto

## La visita guidata
tour-rules = Il broadcasting, con le regole di PyTorch
tour-rules-text =
    Tensori di forme diverse si possono combinare elemento per elemento. Si allineano
    le forme all'ultima dimensione: in ogni colonna le size sono uguali, o una di esse
    è 1 e viene espansa all'altra. Una dimensione che manca a sinistra conta come 1.
    Nulla viene mai copiato.
tour-together = 1. Forme che vanno insieme
tour-together-text =
    Forme uguali ci vanno sempre. Un'unica riga serve per ogni riga. Ciò che manca
    viene aggiunto.
tour-only-row = L'unica riga di b si somma a ognuna delle quattro righe di a.
tour-numbers = 2. Lo stesso con i numeri
tour-numbers-text = Ciò che viene espanso è disegnato prima e dopo. I risultati si stampano come in PyTorch.
tour-a-number = Un numero va con ogni forma.
tour-a-row = Una riga di forma (3,) si somma a ogni riga di forma (2, 3) ...
tour-a-column = ... e una colonna di forma (3, 1) a ogni colonna di (3, 2).
tour-both = (3, 1) e (2,): vengono espansi entrambi.
tour-apart = 3. Forme che non vanno insieme
tour-apart-text =
    L'errore è quello di PyTorch, parola per parola; la sua dimensione è quella del
    risultato. Ciò che forse si intendeva viene provato prima di essere proposto.
tour-third-column = Nella terza colonna da destra, 2 e 3 sono diversi, e nessuno dei due è 1.
tour-in-place = 4. In-place
tour-in-place-text = Un'operazione in-place espande i suoi operandi, mai il tensore su cui scrive.
tour-older-text =
    La nota di PyTorch mostra ancora un testo più vecchio per questo errore ("The
    expanded size of the tensor (1) must match the existing size (7) ..."). Quello di
    oggi è qui sopra.
tour-wrong = 5. Dove i documenti sbagliano
tour-wrong-text =
    Gli esempi vengono dalla nota di PyTorch sul broadcasting e da guide che vi si
    basano. Non tutto ciò che dicono regge alla prova.
tour-no-error =
    Una guida finisce con questi due come esempio di ERRORE. Vanno insieme: in
    entrambe le colonne una size è 1.
tour-size-zero =
    Questo è un errore, ma non perché "a ha rank 0" o non ha "almeno una dimensione":
    ha una dimensione, di size 0, e 0 non è né 4 né 1.
tour-not-the-maximum =
    "La size risultante è la maggiore" qui non regge: una size pari a 1 prende l'ALTRA
    size, che è 0.
tour-no-dimension =
    "Ogni tensore ha almeno una dimensione" non è più una regola: un tensore senza
    dimensioni va con ogni forma.
tour-next = Che cosa provare ora
tour-next-text =
    { "  " }zs explain 32,10 32                        un errore classico, e il suo rimedio
    { "  " }zs explain output=32 target=32,1 --op sub  uno peggiore: nessun errore, loss sbagliata
    { "  " }zs eval 'exp(-x ** 2)' 'x=linspace(-2, 2, 9)'
    { "  " }zs eval '((a[:, None] - b) ** 2).sum(-1)' 'a=rand(500, 3)' 'b=rand(400, 3)' \
    { "     " }--plan -o distances.npy
    { "  " }zs info distances.npy                      che cosa c'è in un file
    { "  " }zs --help                                  tutto il resto
