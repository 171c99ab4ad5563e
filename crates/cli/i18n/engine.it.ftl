# Gli errori frequenti del motore, in italiano. In inglese sono le righe del motore stesso, che sono quelle di
# PyTorch.

## Forme
engine-incompatible = la size di "tensor a" ({ $a }) dev'essere uguale a quella di "tensor b" ({ $b }) nella dimensione { $dim }, dove nessuna delle due è 1
engine-in-place = il tensore su cui si scrive ha forma { $output }, ma il broadcasting dà { $broadcast }
engine-expand = la size richiesta ({ $target }) dev'essere uguale a quella esistente ({ $existing }) nella dimensione { $dim }, dove questa non è 1
engine-dim = la dimensione { $dim } è fuori intervallo: va da { $first } a { $last }
engine-dim-twice = la dimensione { $dim } compare più volte
engine-reshape = { $numel ->
    [1] 1 elemento non può avere forma { $shape }
   *[other] { $numel } elementi non possono avere forma { $shape }
}
engine-index = l'indice { $index } è fuori intervallo nella dimensione { $dim }, che ha size { $size }
engine-no-memory-holds = nessuna memoria può contenere un tensore di questa forma
engine-rank = un tensore di { $ndim } dimensioni non è ammesso: al più 64

## Dtype
engine-promotion = nessun dtype contiene i valori sia di { $a } sia di { $b }
engine-unsupported = { $op } non è definita per { $dtype }
engine-bool-subtraction = la sottrazione, l'operatore `-`, non è definita per i bool: usare `^` o logical_xor(a, b), e `~` per negare una maschera
engine-mixed = { $op } richiede operandi dello stesso dtype, non { $first } e { $other }
engine-not-bool = { $op } richiede una maschera bool, non { $dtype }
engine-overflow = il valore non sta in { $dtype }
engine-cast = un risultato { $from } non si può scrivere in un tensore { $to }

## Valori e memoria
engine-negative-power = gli interi non si elevano a potenze intere negative
engine-write-to-expanded = più elementi del tensore su cui si scrive stanno nello stesso posto in memoria: farne prima una copia con clone()
engine-partial-overlap = gli elementi letti e quelli scritti stanno in parte nello stesso posto in memoria: fare prima una copia con clone()
engine-interrupted = il calcolo è stato interrotto
engine-out-of-memory = impossibile allocare { $bytes } byte per un tensore di forma { $shape }
engine-out-of-scratch = impossibile allocare { $bytes } byte che servono per calcolare un tensore di forma { $shape }

## Policy
policy-refuses = la policy rifiuta { $objection }
policy-objection = { $class }: { $op } di { $shapes } dà { $result }, { $why }
policy-rank-added = un operando riceve una dimensione nuova
policy-stretched = una size 1 viene espansa
policy-mutual-stretch = più grande di ogni operando
policy-same-numel = da operandi con lo stesso numero di elementi ma forme diverse
policy-blow-up = che occupa { $bytes } byte; il limite è { $limit }

## File
in-array = { $file }: array `{ $entry }`: { $problem }
file-cannot = impossibile { $action }: { $error }
file-open = aprirlo
file-read = leggerlo
file-write = scriverlo
file-list = elencarne il contenuto
file-map = mapparlo in memoria
file-use = usarlo
system-not-found = il file non esiste
system-permission = permesso negato
system-folder = è una cartella
system-full = lo spazio è esaurito
file-not-regular = non è un file normale; indicare il percorso di un file .npy, .npz o .safetensors, o di uno store Zarr
file-exists = esiste già; scegliere un altro nome, o permettere di sostituirlo
file-read-only = è protetto da scrittura; renderlo scrivibile o scegliere un altro nome
file-replaced = è stato sostituito o modificato da quando è stato aperto; riaprirlo quando nessuno ci scrive
file-unknown-format = formato sconosciuto; sono noti .npy, .npz e .safetensors
file-unknown-ending = l'estensione non indica un formato noto; scrivere in .npy, .npz, .safetensors o .zarr
file-not-this-format = non è un file { $format }
file-truncated = i dati sono troncati: servono { $needed } byte dal byte { $offset } in poi, e ce ne sono solo { $found }
file-shrank = è stato troncato durante la lettura; forse un altro programma lo sta scrivendo
file-no-such-array = non c'è un array `{ $name }`; { $holdings }
file-without-arrays = il file non contiene array
file-not-single = serve un solo array, e { $holdings }; aggiungere `:` e un nome al percorso
file-holds = { $count ->
    [one] il file contiene { $names }
   *[other] il file ne contiene { $count }: { $names }
}
file-one-array = un file { $format } contiene un solo array, non { $count }; scrivere in .npz o .safetensors
