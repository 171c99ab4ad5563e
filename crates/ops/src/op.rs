//! Owns the `Op` enum and its description, both generated from the table of operations. It does not know the
//! rules of dtypes (`infer.rs`).

use once_cell::race::OnceBox;

use crate::signature::{Parameter, parameter};
use crate::{Kind, Signature};

/// The categories of dtype that an operation computes in, after promotion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(non_camel_case_types, reason = "the table spells its columns in lower case")]
pub enum Domain {
    /// Every dtype.
    any,
    /// Every dtype but bool.
    numeric,
    /// Every dtype but complex.
    real,
    /// Integers and floats.
    ordered,
    /// Bool and integers.
    integral,
    /// Integers.
    integer,
    /// Floats.
    floats,
    /// Floats and complex.
    inexact,
    /// Complex.
    complexes,
}

/// How the operands' common dtype gives the dtype to compute in and the result's dtype.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(non_camel_case_types, reason = "the table spells its columns in lower case")]
pub enum Rule {
    /// The result is of the common dtype.
    common,
    /// Bool and integers are converted to the default float; the result has the dtype computed in.
    float,
    /// As `float`, and the result of complex operands is real.
    float_real,
    /// The result of complex operands is real.
    real,
    /// The result is bool.
    bool,
    /// The result is i32.
    int,
    /// Bool is converted to i64.
    bool_to_int,
    /// The result is the complex dtype of the float.
    complex,
    /// Operands are converted to f64, or complex ones to c128.
    double,
    /// Bool and integers are accumulated as i64.
    sum,
    /// The result is an index, i64.
    index,
    /// The result is bool, but u8 for u8.
    truth,
}

/// The cost of an operation per element, roughly. It decides which loops are divided among threads, and for
/// which operations the cost of a copy of their operands matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(non_camel_case_types, reason = "the table spells its columns in lower case")]
pub enum Effort {
    /// One instruction or a few.
    simple,
    /// A division or a root.
    division,
    /// A mathematical function, a loop for each element, or as many instructions.
    function,
}

/// What the gradient of an operation is, as a function of its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(non_camel_case_types, reason = "the table spells its columns in lower case")]
pub enum Derivative {
    /// The function of its name in `zerostride::expr::grad`.
    rule,
    /// Zero wherever it exists: the operation is piecewise constant.
    zero,
    /// There is none: the operation takes integers, or its result is an integer or a bool.
    none,
    /// Composed of the derivatives of the operations that the formula consists of.
    parts,
}

/// The section of the table that an operation is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// One operand, element by element.
    Unary,
    /// Two operands, element by element.
    Binary,
    /// Three or more operands, element by element.
    Nary,
    /// Dimensions are combined.
    Reduce,
    /// Written in terms of other operations.
    Formula,
}

impl Class {
    /// Whether a kernel computes the operation element by element.
    pub const fn is_elementwise(self) -> bool {
        matches!(self, Class::Unary | Class::Binary | Class::Nary)
    }
}

/// One row of the op table.
#[derive(Debug)]
pub struct OpInfo {
    /// PyTorch's name.
    pub name: &'static str,
    /// The name of the in-place method, where there is one.
    pub in_place: Option<&'static str>,
    /// Other names PyTorch has for it.
    pub aliases: &'static [&'static str],
    /// The operator, where there is one.
    pub symbol: Option<&'static str>,
    /// The section of the table.
    pub class: Class,
    /// The categories it computes in.
    pub domain: Domain,
    /// How the operands' dtypes give the dtypes of computation and result.
    pub rule: Rule,
    /// The cost per element; `None` if the operation is not element-wise.
    pub effort: Option<Effort>,
    /// Its gradient.
    pub derivative: Derivative,
    /// The name in PyTorch's error.
    pub kernel: &'static str,
    /// The arguments in PyTorch's notation.
    pub arguments: &'static str,
    /// The arguments one by one.
    pub(crate) parameters: &'static [Parameter],
    /// Whether the operands may be swapped.
    pub commutative: bool,
    /// The `dtype` to compute in, if it takes one.
    pub(crate) dtype: Option<Parameter>,
    /// What it computes, in one sentence.
    pub doc: &'static str,
}

impl OpInfo {
    /// Whether the operation costs about as little per element as a copy of its operands.
    ///
    /// ```
    /// use zerostride_ops::Op;
    /// assert!(Op::Add.info().is_short() && Op::Div.info().is_short());
    /// assert!(!Op::Exp.info().is_short() && !Op::FloorDivide.info().is_short());
    /// ```
    pub const fn is_short(&self) -> bool {
        matches!(self.effort, Some(Effort::simple | Effort::division))
    }
}

/// One cell of the table that may be empty.
#[rustfmt::skip]
macro_rules! cell {
    // A keyword of Rust, so its Rust functions have an underscore.
    (name where_) => { "where" };
    (name $name:ident) => { stringify!($name) };
    (in_place -) => { None };
    (in_place $name:ident) => { Some(stringify!($name)) };
    (symbol "") => { None };
    (symbol $symbol:literal) => { Some($symbol) };
    (arguments $default:literal) => { $default };
    (arguments $default:literal $operands:literal) => { $operands };
    (arguments $default:literal ($first:ident $(, $name:ident: $type:ident $($notation:literal)?)*) $($dtype:tt)?) => {
        concat!(stringify!($first) $(, ", ", parameter!(notation $name $($notation)?))* $(, cell!(dtype_notation $dtype))?)
    };
    (parameters $default:literal) => { &[Parameter { notation: $default, kinds: &[] }] };
    (parameters $default:literal $operands:literal) => { &[Parameter { notation: $operands, kinds: &[] }] };
    (parameters $default:literal ($first:ident $(, $name:ident: $type:ident $($notation:literal)?)*)) => {
        &[
            Parameter { notation: stringify!($first), kinds: &[Kind::Operand] },
            $(Parameter { notation: parameter!(notation $name $($notation)?), kinds: parameter!(kinds $type) },)*
        ]
    };
    (laws) => { false };
    (laws commutative) => { true };
    (dtype_notation -) => { "" };
    (dtype_notation named) => { ", *, dtype=None" };
    (dtype_notation last) => { ", dtype=None" };
    (dtype -) => { None };
    (dtype named) => { Some(Parameter { notation: "*, dtype=None", kinds: &[Kind::DType] }) };
    (dtype last) => { Some(Parameter { notation: "dtype=None", kinds: &[Kind::DType] }) };
}

macro_rules! define_ops {
    (
        unary { $($(#[doc = $udoc:literal])* $uv:ident $un:ident $ui:tt [$($ua:ident)*] $us:tt $ud:ident $ur:ident $ue:ident $ug:ident $uk:literal $($uarg:literal)? $(($($ulist:tt)*))?;)* }
        binary { $($(#[doc = $bdoc:literal])* $bv:ident $bn:ident $bi:tt [$($ba:ident)*] $bs:tt $bd:ident $br:ident $be:ident $bg:ident $bk:literal $($barg:literal)? $(($($blist:tt)*))? $([$law:ident])?;)* }
        nary { $($(#[doc = $ndoc:literal])* $nv:ident $nn:ident $ni:tt [$($na:ident)*] $ns:tt $nd:ident $nr:ident $ne:ident $ng:ident $nk:literal $($narg:literal)? $(($($nlist:tt)*))?;)* }
        reduce { $($(#[doc = $rdoc:literal])* $rv:ident $rn:ident $rd:ident $rr:ident $ro:ident $req:ident $rone:ident $rp:tt $rem:ident $rl:ident $rg:ident $rdt:tt $rk:literal ($($rlist:tt)*);)* }
        formula { $(#[doc = $fdoc:literal] $(#[doc = $fmore:literal])* $fv:ident $fname:ident $fi:tt $fd:ident $fr:ident $fdt:tt $fk:literal ($($flist:tt)*);)* }
    ) => {
        /// An operation: one row of the table.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Op {
            $($(#[doc = $udoc])* $uv,)*
            $($(#[doc = $bdoc])* $bv,)*
            $($(#[doc = $ndoc])* $nv,)*
            $($(#[doc = $rdoc])* $rv,)*
            $(#[doc = $fdoc] $fv,)*
        }

        impl Op {
            /// Every operation, in table order.
            pub const ALL: &'static [Op] =
                &[$(Op::$uv,)* $(Op::$bv,)* $(Op::$nv,)* $(Op::$rv,)* $(Op::$fv,)*];
        }

        /// The table's rows, in the order of `Op::ALL`.
        static ROWS: &[OpInfo] = &[
            $(OpInfo {
                name: stringify!($un), in_place: cell!(in_place $ui), aliases: &[$(stringify!($ua)),*],
                symbol: cell!(symbol $us), class: Class::Unary, domain: Domain::$ud, rule: Rule::$ur, effort: Some(Effort::$ue), derivative: Derivative::$ug, kernel: $uk,
                arguments: cell!(arguments "input" $($uarg)? $(($($ulist)*))?), parameters: cell!(parameters "input" $($uarg)? $(($($ulist)*))?),
                commutative: false, dtype: None, doc: concat!($($udoc),*),
            },)*
            $(OpInfo {
                name: stringify!($bn), in_place: cell!(in_place $bi), aliases: &[$(stringify!($ba)),*],
                symbol: cell!(symbol $bs), class: Class::Binary, domain: Domain::$bd, rule: Rule::$br, effort: Some(Effort::$be), derivative: Derivative::$bg, kernel: $bk,
                arguments: cell!(arguments "input, other" $($barg)? $(($($blist)*))?), parameters: cell!(parameters "input, other" $($barg)? $(($($blist)*))?),
                commutative: cell!(laws $($law)?), dtype: None, doc: concat!($($bdoc),*),
            },)*
            $(OpInfo {
                name: cell!(name $nn), in_place: cell!(in_place $ni), aliases: &[$(stringify!($na)),*],
                symbol: cell!(symbol $ns), class: Class::Nary, domain: Domain::$nd, rule: Rule::$nr, effort: Some(Effort::$ne), derivative: Derivative::$ng, kernel: $nk,
                arguments: cell!(arguments "input" $($narg)? $(($($nlist)*))?), parameters: cell!(parameters "input" $($narg)? $(($($nlist)*))?), commutative: false, dtype: None, doc: concat!($($ndoc),*),
            },)*
            $(OpInfo {
                name: stringify!($rn), in_place: None, aliases: &[], symbol: None, class: Class::Reduce,
                domain: Domain::$rd, rule: Rule::$rr, effort: None, derivative: Derivative::$rg, kernel: $rk, arguments: cell!(arguments "input" ($($rlist)*) $rdt), parameters: cell!(parameters "input" ($($rlist)*)), commutative: false, dtype: cell!(dtype $rdt),
                doc: concat!($($rdoc),*),
            },)*
            $(OpInfo {
                name: stringify!($fname), in_place: cell!(in_place $fi), aliases: &[], symbol: None, class: Class::Formula,
                domain: Domain::$fd, rule: Rule::$fr, effort: None, derivative: Derivative::parts, kernel: $fk, arguments: cell!(arguments "input" ($($flist)*) $fdt), parameters: cell!(parameters "input" ($($flist)*)), commutative: false, dtype: cell!(dtype $fdt),
                doc: $fdoc,
            },)*
        ];
    };
}

crate::for_each_op!(define_ops);

impl Op {
    /// The operation's row.
    pub const fn info(self) -> &'static OpInfo {
        &ROWS[self as usize]
    }

    /// PyTorch's name.
    pub fn name(self) -> &'static str {
        self.info().name
    }

    /// The call as documented: `add(input, other, *, alpha=1)`.
    pub fn usage(self) -> String {
        format!("{}({})", self.name(), self.info().arguments)
    }

    /// The arguments with their kinds and defaults.
    pub fn signature(self) -> &'static Signature {
        static SIGNATURES: [OnceBox<Signature>; Op::ALL.len()] = [const { OnceBox::new() }; Op::ALL.len()];
        let parse =
            || Box::new(Signature::parse(self.info().parameters.iter().copied().chain(self.info().dtype)));
        SIGNATURES[self as usize].get_or_init(parse)
    }

    /// Whether it is a method of tensors in Python: the parts of complex numbers are attributes there, as in
    /// PyTorch.
    pub fn is_method(self) -> bool {
        !matches!(self, Op::Real | Op::Imag)
    }

    /// Its in-place methods in Python: PyTorch has most aliases in place, too.
    pub fn in_place_names(self) -> impl Iterator<Item = String> {
        let info = self.info();
        let aliases = info.aliases.iter().filter(|alias| !matches!(**alias, "conj" | "expit"));
        let aliases = aliases.map(|alias| format!("{alias}_"));
        info.in_place
            .into_iter()
            .flat_map(move |name| std::iter::once(name.to_owned()).chain(aliases.clone()))
    }

    /// The operation of that name or alias.
    ///
    /// ```
    /// use zerostride_ops::Op;
    /// assert_eq!(Op::from_name("arccos"), Some(Op::Acos));
    /// assert_eq!(Op::from_name("acoss"), None);
    /// ```
    pub fn from_name(name: &str) -> Option<Op> {
        Op::ALL.iter().copied().find(|op| op.name() == name || op.info().aliases.contains(&name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn rows_stand_in_the_order_of_the_enum() {
        assert_eq!(ROWS.len(), Op::ALL.len());
        for (index, op) in Op::ALL.iter().enumerate() {
            assert_eq!(*op as usize, index);
            assert_eq!(format!("{op:?}").to_lowercase(), op.name().replace('_', ""));
        }
    }

    #[test]
    fn a_name_means_one_operation() {
        let mut seen = HashSet::new();
        for op in Op::ALL {
            for name in std::iter::once(&op.info().name).chain(op.info().aliases) {
                assert!(seen.insert(*name), "{name} stands twice in the table");
                assert_eq!(Op::from_name(name), Some(*op));
            }
        }
    }

    #[test]
    fn every_element_wise_row_says_what_an_element_takes() {
        for op in Op::ALL {
            assert_eq!(op.info().effort.is_some(), op.info().class.is_elementwise(), "{op:?}");
        }
    }

    #[test]
    fn every_row_is_documented_and_its_signature_reads() {
        for op in Op::ALL {
            assert!(op.info().doc.trim_end().ends_with('.'), "{op:?}");
            assert!(!op.signature().arguments.is_empty(), "{op:?}");
        }
    }
}
