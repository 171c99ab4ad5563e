# Tutte le frasi di una spiegazione, in italiano. Le righe d'errore sono quelle di PyTorch e non stanno in
# nessun catalogo. I numeri scelgono il plurale; size, forme, nomi e chiamate restano come sono.

## Parole brevi
and = e
list-none = nessun operando
list-last = { $first } e { $last }
list-more = { $first } e altri { $count }
decimal-sign = ,
elements = { $count ->
    [one] { $count } elemento
   *[other] { $count } elementi
}
elements-beyond-counting = più di 2^128 elementi
times = { $count ->
    [0] mai
    [1] una volta
    [2] due volte
   *[other] { $count } volte
}
dim = dim
dim-one = dim { $dim }
dims-range = dim da { $first } a { $last }
result = risultato

## Che cosa diventa che cosa
headline-of-none = { $expression }: la forma senza operandi è { $result }
headline-of-one = { $expression }: { $result } resta com'è
headline = { $expression }: il broadcasting di { $shapes } dà { $result }
headline-reduced = { $expression }: il risultato ha forma { $result }
headline-short = { $expression }: il broadcasting delle forme dà { $result }
headline-shortest = { $expression }: il broadcasting delle forme dà { $ndim } dimensioni
expression-in-place = { $target }, scritto in-place a partire da { $others }
tensors-a-and-b = Qui "tensor a" è { $a } e "tensor b" è { $b }.
tensors-a-and-b-dim = Qui "tensor a" è { $a }, "tensor b" è { $b }, e la dimensione è la dim { $dim } qui sotto.

## Le forme allineate
no-dimension = Il risultato è 0-d: un elemento, nessuna dimensione.
legend-stretched = una size pari a 1 viene espansa
legend-added = dimensione mancante: viene anteposta con size 1

## Passo 1
step-one = Passo 1: le forme sono compatibili? Si confrontano le size a ritroso, partendo dall'ultima.
zero-dim-operands = { $count ->
    [one] { $names } è 0-d (rank 0): è compatibile con ogni forma.
   *[other] { $names } sono 0-d (rank 0): sono compatibili con ogni forma.
}
all-have = { $count ->
    [2] entrambi hanno { $size }
   *[other] tutti hanno { $size }
}
has = { $count ->
    [one] { $names } ha { $size }
   *[other] { $names } hanno { $size }
}
has-none = { $count ->
    [one] { $names } non ha questa dimensione
   *[other] { $names } non hanno questa dimensione
}
sizes-differ = sono diverse, e nessuna delle due è 1
some-sizes-differ = { $count ->
    [2] { $sizes } sono diverse, e nessuna delle due è 1
   *[other] { $sizes } sono diverse, e nessuna è 1
}
one-stretched = la size 1 di { $name } viene espansa a { $to }
ones-stretched = le size 1 vengono espanse a { $to }
one-added = { $count ->
    [one] a { $names } viene anteposta una dimensione di size 1
   *[other] a { $names } viene anteposta una dimensione di size 1
}
one-added-and-stretched = { $count ->
    [one] a { $names } viene anteposta una dimensione di size 1, espansa a { $to }
   *[other] a { $names } viene anteposta una dimensione di size 1, espansa a { $to }
}
also-misfit = { $count ->
    [one] Il confronto si ferma qui; neanche la dim { $dims } sarebbe compatibile.
   *[other] Il confronto si ferma qui; neanche le dim { $dims } sarebbero compatibili.
}

## Passo 2
step-two = Passo 2: qual è la forma risultante? Una size pari a 1 prende l'altra size.
result-size = { $shape }: { $elements }.
result-size-bytes = { $shape }: { $elements }, { $bytes } in { $dtype }.
emptied = Nella dim { $dims } un 1 diventa 0: prende l'ALTRA size, non la maggiore. Il risultato è vuoto.
target-differs = Ma { $target }, il tensore su cui si scrive, ha forma { $shape }, e un'operazione in-place non cambia mai la forma del suo tensore.
target-fits = È la forma di { $target }, su cui si può quindi scrivere in-place.
no-memory = Tutte le dimensioni sono compatibili, ma nessuna memoria potrebbe contenere il risultato: viene rifiutato prima di allocare qualsiasi cosa.

## Una riduzione del risultato
step-reduce = Che cosa combina { $op }?
reduced = { $count ->
    [0] Non combina nessuna dimensione: { $shape }.
    [one] Combina la dim { $dims }, { $elements } alla volta: { $shape }.
   *[other] Combina le dim { $dims }, { $elements } alla volta: { $shape }.
}

## Come viene letto ogni operando
nothing-stretched = Nulla viene espanso: gli operandi si incontrano elemento per elemento.
nothing-copied = Nulla viene copiato: dove un operando viene espanso, il suo stride è 0.
column-repeats = ogni elemento
column-own = byte propri
column-copy = come copia
column-strides = stride
reading = { $name }: ogni elemento { $repeats }, { $own }, come copia { $copy }, stride { $strides }
bytes-saved = { $own } vengono espansi dove stanno; le copie occuperebbero { $copies }.
unknown-dtypes = (Un dtype sconosciuto conta come f32.)
before-and-after = { $name } prima e dopo

## Che cosa forse non era voluto
note = Nota:
larger-than-every-operand = il risultato ({ $elements }) è più grande di OGNI operando ({ $sizes }). È giusto per un prodotto esterno o per una tabella di tutte le coppie; altrove, per esempio in una loss, è un errore frequente che nessuno segnala.
element-by-element-instead = Per combinarli invece elemento per elemento:
above-the-limit = il risultato occupa { $bytes }, oltre il limite di { $limit }.

## Rimedi
repairs = Che cosa funzionerebbe, il più probabile per primo (ognuno è stato applicato e verificato):
repairs-all-pairs = Per tutte le coppie, con un risultato più grande di ogni operando:
repairs-larger = Che cosa funzionerebbe, con un risultato più grande di ogni operando:
repairs-only-all-pairs = Nessuna modifica di un solo operando li fa incontrare elemento per elemento. Queste modifiche permettono il broadcasting, ma su tutte le coppie, con un risultato più grande di ogni operando:
repair-gives = dà { $shape }, { $elements }
repair-becomes = { $name } diventa { $view }; dà { $shape }, { $elements }
after-the-first-repair = Dopo il primo rimedio
hint-keepdim = Se { $name } è una media o un'altra riduzione di { $of } lungo la dim { $dims }, lì si può passare keepdim=True.
hint-element-order = Hanno lo stesso numero di elementi; è giusto solo se sono memorizzati nello stesso ordine.
hint-new-tensor = Un tensore nuovo; { $name } resta com'è.
no-repair = Nessuna modifica di un solo operando (una dimensione aggiunta, tolta o spostata) rende compatibili queste forme.
no-repair-of-empty = { $count ->
    [one] { $names } non ha elementi: una size pari a 0 è compatibile solo con 0 o 1. Nessuna vista vi rimedia; occorre cercare dove gli elementi sono andati persi.
   *[other] { $names } non hanno elementi: una size pari a 0 è compatibile solo con 0 o 1. Nessuna vista vi rimedia; occorre cercare dove gli elementi sono andati persi.
}

## La figura
own-elements = i suoi elementi
seen-again = gli stessi elementi, visti di nuovo: nessuna copia
slice-of = { $count ->
    [one] l'unica fetta
   *[other] la prima di { $count } fette
}
slice-shared = una fetta per tutte e { $count }
operands-not-drawn = { $count ->
    [one] Un altro operando sta solo nella tabella.
   *[other] Altri { $count } operandi stanno solo nella tabella.
}
arrow-stretched = { $name }: la dim { $dim } viene espansa da 1 a { $to }
arrow-added = { $name }: la dim { $dim } viene anteposta ed espansa a { $to }
