# Every sentence of an explanation, in English. Error lines are PyTorch's and stand in no catalogue.
# Counts select plurals; sizes, shapes, names and calls are put in as they are.

## Small words
and = and
list-none = no operand
list-last = { $first } and { $last }
list-more = { $first } and { $count } more
decimal-sign = .
elements = { $count ->
    [one] { $count } element
   *[other] { $count } elements
}
elements-beyond-counting = more than 2^128 elements
times = { $count ->
    [0] never
    [1] once
    [2] twice
   *[other] { $count } times
}
dim = dim
dim-one = dim { $dim }
dims-range = dims { $first } to { $last }
result = result

## What broadcasts to what
headline-of-none = { $expression }: the shape of nothing is { $result }
headline-of-one = { $expression }: { $result } stays as it is
headline = { $expression }: { $shapes } broadcast to { $result }
headline-reduced = { $expression }: the result has shape { $result }
headline-short = { $expression }: the shapes broadcast to { $result }
headline-shortest = { $expression }: the shapes broadcast to { $ndim } dimensions
expression-in-place = { $target }, written in place from { $others }
tensors-a-and-b = Here "tensor a" is { $a } and "tensor b" is { $b }.
tensors-a-and-b-dim = Here "tensor a" is { $a }, "tensor b" is { $b }, and the dimension is dim { $dim } below.

## The shapes lined up
no-dimension = The result is 0-d: one element, no dimension.
legend-stretched = a size of 1 is stretched
legend-added = no such dimension: it is added as 1

## Step 1
step-one = Step 1: are the shapes compatible? Compare the sizes from the right.
zero-dim-operands = { $count ->
    [one] { $names } is 0-d, which goes with every shape.
   *[other] { $names } are 0-d, which goes with every shape.
}
all-have = { $count ->
    [2] both have { $size }
   *[other] all have { $size }
}
has = { $count ->
    [one] { $names } has { $size }
   *[other] { $names } have { $size }
}
has-none = { $count ->
    [one] { $names } has none
   *[other] { $names } have none
}
sizes-differ = they differ, and neither is 1
some-sizes-differ = { $count ->
    [2] { $sizes } differ, and neither is 1
   *[other] { $sizes } differ, and none is 1
}
one-stretched = the 1 of { $name } is stretched to { $to }
ones-stretched = the 1s are stretched to { $to }
one-added = { $count ->
    [one] { $names } gets a dimension of size 1
   *[other] { $names } get a dimension of size 1
}
one-added-and-stretched = { $count ->
    [one] { $names } gets a 1, stretched to { $to }
   *[other] { $names } get a 1, stretched to { $to }
}
also-misfit = { $count ->
    [one] The comparison stops there; dim { $dims } would not fit either.
   *[other] The comparison stops there; dims { $dims } would not fit either.
}

## Step 2
step-two = Step 2: what is the resulting shape? A size of 1 takes the other size.
result-size = { $shape }: { $elements }.
result-size-bytes = { $shape }: { $elements }, { $bytes } as { $dtype }.
emptied = In dim { $dims } a 1 became 0: it takes the OTHER size, not the larger one. The result is empty.
target-differs = But { $target }, which is written to, has shape { $shape }, and an operation in place never changes the shape of its target.
target-fits = It is the shape of { $target }, which can therefore be written in place.
no-memory = Every dimension fits, but no memory could hold the result: it is refused before anything is allocated.

## A reduction of the broadcast
step-reduce = What does { $op } combine?
reduced = { $count ->
    [0] It combines no dimension: { $shape }.
    [one] It combines dim { $dims }, { $elements } at a time: { $shape }.
   *[other] It combines dims { $dims }, { $elements } at a time: { $shape }.
}

## How each operand is read
nothing-stretched = Nothing is stretched: the operands meet element by element.
nothing-copied = Nothing is copied: where an operand is stretched, its stride is 0.
column-repeats = each element
column-own = own bytes
column-copy = as a copy
column-strides = strides
reading = { $name }: each element { $repeats }, { $own }, as a copy { $copy }, strides { $strides }
bytes-saved = { $own } are stretched as they lie; copies would take { $copies }.
unknown-dtypes = (Unknown dtypes count as f32.)
before-and-after = { $name } before and after

## What may not be meant
note = Note:
larger-than-every-operand = the result ({ $elements }) is larger than EVERY operand ({ $sizes }). That is right for an outer product or a table of all pairs; anywhere else, such as in a loss, it is a common mistake that raises no error.
element-by-element-instead = To combine them element by element instead:
above-the-limit = the result takes { $bytes }, above the limit of { $limit }.

## Repairs
repairs = What would work, the likeliest first (each was applied and checked):
repairs-all-pairs = For all pairs, with a result larger than every operand:
repairs-larger = What would work, with a result larger than every operand:
repairs-only-all-pairs = No change of one operand makes them meet element by element. These broadcast, but to all pairs, larger than every operand:
repair-gives = gives { $shape }, { $elements }
repair-becomes = { $name } becomes { $view }; gives { $shape }, { $elements }
after-the-first-repair = After the first repair
hint-keepdim = If { $name } is a mean or another reduction of { $of } over dim { $dims }, pass keepdim=True there.
hint-element-order = Both have equally many elements; right only if they are stored in the same order.
hint-new-tensor = A new tensor; { $name } stays as it is.
no-repair = No change of one operand (a new, dropped or moved dimension) makes these shapes broadcast.
no-repair-of-empty = { $count ->
    [one] { $names } has no elements: a size of 0 goes only with 0 or 1. No view repairs that; look for where the elements were lost.
   *[other] { $names } have no elements: a size of 0 goes only with 0 or 1. No view repairs that; look for where the elements were lost.
}

## The picture
own-elements = its own elements
seen-again = the same elements, seen again: no copy
slice-of = { $count ->
    [one] the only slice
   *[other] the first of { $count } slices
}
slice-shared = one slice for all { $count }
operands-not-drawn = { $count ->
    [one] One more operand is in the table only.
   *[other] { $count } more operands are in the table only.
}
arrow-stretched = { $name }: dim { $dim } is stretched from 1 to { $to }
arrow-added = { $name }: dim { $dim } is added and stretched to { $to }
