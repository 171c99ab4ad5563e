# Every sentence of the shell, in English. Numbers select the plural; names, shapes and calls stay as they are.
# The help is in `args.rs`, and the engine's errors are the engine's.

## The language of expressions
not-of-the-language = `{ $text }` is not part of the language
write = write { $text }
write-or = write { $text }, or { $other }
write-with-parentheses = write `{ $text }` with parentheses around comparisons, or { $other }
write-a-straight-quote = write a straight quote
one-tensor-from-others = an expression computes one tensor from others
names-are-ascii = names are made of ASCII letters, digits and `_`
no-escapes = quoted words have no escapes
quote-never-closed = this quote is never closed
unexpected-character = unexpected character `{ $character }`
to-multiply-write = to multiply, write `{ $product }`
number-runs-into-name = a number runs into a name
underscore-between-digits = in a number, `_` stands between two digits
unreadable-number = this number cannot be read
number-too-large = this number is too large for a float
infinity-is-inf = for infinity, write `inf`
no-leading-zero = an integer does not start with 0
integer-too-large = this integer does not fit in 64 bits
float-has-a-point = for a float, write it with a point: `1e20`, `5.0`
operator-not-comma = expected an operator, found `,`
empty-expression = the expression is empty
for-instance = for instance: { $command }
too-many-parts = the expression has more than { $most } parts
numbers-in-a-file = put the numbers in a file
expected-but-end = expected { $expected }, but the expression ends here
closes-nothing = this `{ $symbol }` closes nothing
ellipsis-in-an-index = `...` stands only in an index, as in `x[..., 0]`
to-compare-write = to compare, write `==`; names get their values after the expression: { $command }
expected = expected { $expected }, found { $found }
an-operator = an operator
an-operand = an operand
an-index = an index
a-method-name = the name of a method
either-sign = `{ $one }` or `{ $other }`
a-name = a name
a-number = a number
a-quoted-word = a quoted word
a-tensor = a tensor
a-list = a list
a-dtype = a dtype
nested-too-deep = the expression is nested more than { $most } deep
comparisons-do-not-chain = comparisons do not chain
only-functions-are-called = only functions and methods can be called
never-closed = this `{ $open }` is never closed
does-not-close = this `{ $other }` does not close the `{ $open }`
argument-without-name = an argument without a name follows one with a name
index-missing = an index is missing
all-elements = for all elements, write `x[:]`
slice-has-three-parts = a slice has three parts

## Names and arguments
unknown-name = unknown name `{ $name }`
is-a-function = `{ $name }` is a function
is-a-method = `{ $name }` is a method
call-it = call it, as in { $call }
call-method = call it, as in { $call }
functions-stand-alone = functions and dtypes stand alone: exp(x) and f32, not torch.exp(x) and torch.float32
did-you-mean = did you mean `{ $name }`?
names-get-values = names get their values after the expression, as in { $name }=5 or { $name }=x.npy
is-no-function = `{ $name }` is not a function
unknown-function = unknown function `{ $name }`
is-no-tensor = `{ $name }` is not a tensor
add-dry-run = for the shape and dtype of the result, add --dry-run
unknown-attribute = unknown attribute `{ $name }`
attributes = there are .T, .mT, .real and .imag
unknown-dtype = unknown dtype `{ $name }`
an-integer = an integer
no-negative-number = a number that is not negative
true-or-false = True or False
some-dtype = a dtype, such as 'f32'
list-of-tensors = a list of tensors
tuple-of-tensors = a tuple of tensors
two-lists = two lists of dimensions
dim-or-other = `dim` or `other`, not both
too-many-arguments = too many arguments
given-twice = `{ $name }` is given twice
no-argument = there is no argument `{ $name }`
missing = `{ $name }` is missing
called-as = it is called as { $usage }
is-no-operand = { $kind } is not an operand
list-expected = expected a list at dim { $dim }, found { $kind }
tensors-are-no-tensor = a list of tensors is not a tensor
first-of-them = [0] behind it takes the first of them; stack([a, b]) and cat([a, b]) put them together
list-holds-numbers = a list holds numbers, not { $kind }
does-not-fit = { $number } does not fit in { $dtype }
unsigned-has-a-dtype = u64 holds it, as in [18446744073709551615]:u64; for a float, write it with a point: `1e20`, `5.0`
tensor-out-of-range = index { $place } is out of range: there are { $count } tensors
is-no-index = { $kind } is not an index
indices = an index is an integer, a slice, None, `...`, a mask or integers, as in x[x > 0] and x[[0, 2]]
slice-of-integers = the parts of a slice are integers, not { $kind }
only-tensors-are-written = only a tensor can be written to, not a view, a computation or a number
writes-to-x = x.add_(y) writes to x; in other cases, write x + y
takes-no-dtype = { $call } takes no dtype
convert-the-result = convert the result, as in x.to(f64)
wants-dims = { $name } must be { $wanted }, got a tensor of { $found ->
    [one] 1 dimension
   *[other] { $found } dimensions
}
a-vector = a vector
a-matrix = a matrix
a-batch-of-matrices = a batch of matrices (3 dimensions)
one-of-two = `{ $name }` is '{ $one }' or '{ $other }', not '{ $found }'
tilde-needs-integer = `~` needs an integer
result-too-wide = the result does not fit in 64 bits
division-by-zero = division by zero
negative-shift = a shift cannot be negative
result-too-large = the result is too large for a float
not-of-these-numbers = `{ $op }` is not defined for these numbers
shape-depends-on-elements = the shape of this depends on elements, which a dry run does not compute: nothing is known of what follows
convert-one = convert one of them, as in x.to(i64)
convert-operand = convert the operand, as in { $call }
comparison-makes-mask = a comparison such as `x > 0` makes a mask

## Shapes and values on the command line
shape-is-written = a shape is written as 5,1,4,1 or (5, 1, 4, 1), and () has no dimensions; values nest or have a dtype, as [[1, 2]] and 5:i64
never-closed-by = this `{ $open }` is never closed by a `{ $close }`
empty-shape = the shape is empty
size-too-large = this size is too large for any tensor
size-missing = a size is missing here
size-negative = a size cannot be negative
sizes-do-not-nest = sizes do not nest
sizes-and-commas = sizes are separated by commas
size-is-whole = a size is a whole number
name-and-value = expected NAME=VALUE, as in x=5 or x=image.npy
value-missing = the value is missing
neither-number-nor-file = this is neither a number nor a file that can be read
a-value-is = a value is a number, a list such as [[1, 2, 3]], either with a :dtype, or a file ending in .npy, .npz, .safetensors, .zarr, .csv or .tsv, with :NAME for one of its arrays, or - for standard input

## Options
rule-is-written = a rule is written as in mutual_stretch=error or max_bytes=2GiB
policy-classes = the classes of broadcasts are { $names }; and there is max_bytes
policy-actions = a policy says allow, warn or error
element-by-element = to combine them element by element: { $call }
number-of-threads = write a number from 1 to { $most }
set-the-variable = set the variable to something else, or to nothing
cannot-start-threads = cannot start { $count } threads: { $error }
ask-for-fewer = ask for fewer, as in --threads 2
amount-is-written = write a number of bytes, or a unit as in 512MiB or 1.5GB
unknown-option = unknown option `{ $option }`
list-of-options = `zs eval --help` lists the options; of two minus signs, put the second one in parentheses: -(-x)
has-a-value = `{ $name }` has a value already
has-a-shape = `{ $name }` has a shape already
standard-input-once = standard input can be read once, and several names are `-`
unused-name = note: the expression does not use `{ $name }`
no-command = there is no command `{ $name }`
there-are = there are { $names }
unknown-operation = unknown operation `{ $name }`
operations-have-names = operations have PyTorch's names, as in --op add, or symbols, as in --op +
combines-dimensions = `{ $name }` combines dimensions and does not broadcast
is-a-product = `{ $name }` combines dimensions, as products of matrices do
is-not-element-wise = `{ $name }` does not work element by element
shape-of-product = for the shape of a product: zs eval 'a @ b' 'a=zeros(3, 4)' 'b=zeros(4, 5)' --dry-run
explain-element-wise = explain element-wise operations, as in --op add
takes-operands = `{ $name }` takes { $most ->
    [one] { $range } operand
   *[other] { $range } operands
}, and { $count ->
    [one] 1 shape is given
   *[other] { $count } shapes are given
}
from-to = { $first } to { $last }
named-sizes-in-text = sizes that are names are explained in text alone; give numbers
values-and-names = values do not go with sizes that are names; give a shape
format-ends-in = { $path }: a file of this format ends in .{ $ending }
ending-decides = without --format, the ending of the file decides
unknown-ending = { $path }: unknown ending
explanation-endings = an explanation goes to .txt, .json, .svg or .html
sizes-of-dim-differ = the sizes { $size } and { $other } of dimension { $dim } differ, and neither is 1
equal-or-one = { $sizes } have to be equal; where one is 1, the result has the other
letters-grow =
    Note: the result has { $elements } elements, more than EVERY operand ({ $sizes }).
    That is right for a table of all pairs; anywhere else, such as in a loss, it is a
    common mistake that raises no error.
letters-by-element = Element by element: { $column }.squeeze(-1), or { $row }.unsqueeze(-1).
equal-in-place = { $sizes } have to be equal
equal-or-one-in-place = { $size } has to be { $own }, or 1
grows-in-place = output with shape { $output } doesn't match the broadcast shape { $broadcast }
and = { $first } and { $last }
broadcast-to = { $names }: { $shapes } broadcast to { $result }
broadcast-to-unless-one = { $names }: { $shapes } broadcast to { $result } if no size is 1
result = result

## Amounts
bytes = { $count ->
    [one] { $shown } byte
   *[other] { $shown } bytes
}

## Evaluations
memory-taken = this takes { $amount } of memory, and --max-memory allows { $limit }
memory-taken-besides = this takes { $amount } of memory besides the { $others } that are taken already, and --max-memory allows { $limit }
memory-needed-allowed = { $needed } of memory are needed, and --max-memory allows { $limit }: { $reason }
memory-needed-available = { $needed } of memory are needed, and { $limit } may be taken, half of what is available now: { $reason }
results-and-outputs = { $results ->
    [one] there is 1 result
   *[other] there are { $results } results
}, and { $outputs ->
    [one] 1 output
   *[other] { $outputs } outputs
}
output-for-each = -o stands once for each result, as in: { $command }
reads-and-holds = { $passes ->
    [one] reads { $read } in 1 pass, holds at most { $memory }
   *[other] reads { $read } in { $passes } passes, holds at most { $memory }
}
force-without-output = --force replaces a file, and there is no -o
name-the-output = name the file with -o
format-without-stream = --format says what goes to standard output, and there is no `-o -`
stream-or-ending = add -o -; the format of a file is that of its ending, as in -o y.csv
option-without-store = { $option } is for .zarr results, and there is none
write-a-store = write a store, as in -o y.zarr
output-twice = two results are written to { $output }
output-of-its-own = give each an output of its own
exists = { $path }: it exists already
force-replaces = --force replaces it, once the result is complete
terminal-and-npy = standard output is a terminal, and .npy is no text
format-csv = --format csv writes text
json-in-the-way = --json prints a line where the result goes; write it to a file
no-known-format = { $path }: the ending says no known format
written-formats = results are written to .npy, .npz, .safetensors, .zarr, .csv or .tsv
output-unwritable = cannot write the output: { $error }
interrupted = error: the evaluation was interrupted
pass-of = pass { $pass } of { $passes }
done-of = { $percent } %: { $done } of { $all }, { $pace }
pace = { $rate }/s, { $seconds } s left

## Tables and files
in-file = { $file }: { $problem }
standard-input = standard input
standard-output = standard output
cannot-read-it = cannot read it: { $error }
no-number-in = line { $line }, { $column }: `{ $cell }` is not a number
column-numbered = column { $number }
column-named = column `{ $name }`
table-empty = it is empty
table-of-one-line = its only line, `{ $line }`, would be names: numbers are separated by commas, semicolons, tabs or spaces
take-a-column = take one of the columns of numbers, as { $argument }: { $columns }
columns-of-one-name = { $count } columns are called `{ $name }`
no-column-without-names = there is no column `{ $name }`: no line of names comes first
no-column = there is no column `{ $name }`; there are { $names }
table-has-two-dims = a table has at most two dimensions, and the result has { $ndim }
write-npy-or-reshape = write .npy, or reshape it, as in x.flatten(1)
arrays = { $count ->
    [one] 1 array
   *[other] { $count } arrays
}
of-members = { $arrays } of { $count } members
a-table = { $rows ->
    [one] a table of 1 row
   *[other] a table of { $rows } rows
} and { $columns ->
    [one] 1 column
   *[other] { $columns } columns
}
big-endian = big-endian
fortran-order = Fortran order
cannot-be-read = cannot be read
cannot-be-read-since = cannot be read: { $why }

## The list of functions
functions-called-as = Functions are called as f(x, dim=0), or as methods, x.f(dim=0). Parameters with a default may be left out, those after * have to be named. In-place methods end in an underscore, as x.add_(y). Dtypes are f32, i64 and so on. Calls of rand and randn without a seed have the seeds 0, 1, 2 and so on, operands first, so that numbers differ from call to call and are the same in the next evaluation.
functions-of-one = One operand
functions-of-two = Two operands
functions-of-more = More operands
functions-reduce = Reductions
functions-formulas = Formulas
functions-statistics = Statistics and comparisons
functions-view = Views
functions-multiply = Products
functions-join = Tensors put together
functions-move = Elements repeated, moved, ordered, picked and counted
functions-parts = Parts, and several tensors
functions-write = Copies to which elements are written
functions-make = Tensors that are made
functions-convert = Conversions and copies

## Labels
error = error
warning = warning
note = note
help = help

## The tour
tour-rules = Broadcasting, by PyTorch's rules
tour-rules-text =
    Tensors of different shapes can be combined element by element. Line the shapes
    up at their last dimension: in every column the sizes are equal, or one of them
    is 1 and is stretched to the other. A dimension that is missing on the left
    counts as 1. Nothing is ever copied.
tour-together = 1. Shapes that go together
tour-together-text = Equal shapes always do. A single row serves every row. What is missing is added.
tour-only-row = The only row of b is added to each of the four rows of a.
tour-numbers = 2. The same with numbers
tour-numbers-text = What is stretched is drawn before and after. Results print as PyTorch's do.
tour-a-number = A number goes with every shape.
tour-a-row = A row of shape (3,) is added to each row of shape (2, 3) ...
tour-a-column = ... and a column of shape (3, 1) to each column of (3, 2).
tour-both = (3, 1) and (2,): both are stretched.
tour-apart = 3. Shapes that do not go together
tour-apart-text =
    The error is PyTorch's, word for word; its dimension is one of the result. What
    might have been meant is tried before it is offered.
tour-third-column = In the third column from the right, 2 and 3 differ, and neither is 1.
tour-in-place = 4. In place
tour-in-place-text = An operation in place stretches its operands, never the tensor it writes to.
tour-older-text =
    PyTorch's own note still shows an older text for this error ("The expanded size
    of the tensor (1) must match the existing size (7) ..."). Today's is the above.
tour-wrong = 5. Where the documents are wrong
tour-wrong-text =
    The examples come from PyTorch's note on broadcasting and from guides built on
    it. Not all of what these say holds when it is tried.
tour-no-error =
    A guide ends with these two as its example of an ERROR. They go together: in
    both columns one size is 1.
tour-size-zero =
    This is an error, but not because "a has rank 0" or lacks "at least one
    dimension": it has one dimension, of size 0, and 0 is neither 4 nor 1.
tour-not-the-maximum =
    "The resulting size is the maximum" fails here: a size of 1 takes the OTHER
    size, and that is 0.
tour-no-dimension =
    "Each tensor has at least one dimension" is no rule any more: a tensor without
    dimensions goes with every shape.
tour-next = What to try next
tour-next-text =
    { "  " }zs explain 32,10 32                        a classic mistake, and its repair
    { "  " }zs explain output=32 target=32,1 --op sub  a worse one: no error, a wrong loss
    { "  " }zs eval 'exp(-x ** 2)' 'x=linspace(-2, 2, 9)'
    { "  " }zs eval '((a[:, None] - b) ** 2).sum(-1)' 'a=rand(500, 3)' 'b=rand(400, 3)' \
    { "     " }--plan -o distances.npy
    { "  " }zs info distances.npy                      what is in a file
    { "  " }zs --help                                  everything else
