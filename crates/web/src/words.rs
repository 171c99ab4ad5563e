//! Owns the page's own texts in every language: labels, hints, the reader's mistakes. It does not know the
//! sentences about a broadcast, which are in the catalogue of `zerostride-explain`.

use zerostride_explain::Lang;

use crate::operand::Mistake;

/// A key, English, Italian.
type Row = (&'static str, &'static str, &'static str);

/// The labels; the page shows each in the element whose `data-word` is the key.
pub(crate) const LABELS: [Row; 28] = [
    ("title", "Broadcasting, explained", "Il broadcasting, spiegato"),
    (
        "lead",
        "Type the shapes of your tensors, or small arrays, and see what PyTorch and NumPy do with them.",
        "Scrivi le forme dei tuoi tensori, o piccoli array, e guarda che cosa ne fanno PyTorch e NumPy.",
    ),
    ("operands", "Operands", "Operandi"),
    ("name", "Name", "Nome"),
    ("shape", "Shape or values", "Forma o valori"),
    (
        "notation",
        "A shape is written 32, 1 or (32, 1); () has no dimensions. A size may be a letter: n, 1. Values are nested lists, [[1, 2, 3]], with a dtype if you like: [1, 2]:f64.",
        "Una forma si scrive 32, 1 oppure (32, 1); () non ha dimensioni. Una dimensione può essere una lettera: n, 1. I valori sono liste annidate, [[1, 2, 3]], se vuoi con un dtype: [1, 2]:f64.",
    ),
    ("how", "How to write them", "Come si scrivono"),
    ("unused", "This operation does not use it", "Questa operazione non lo usa"),
    ("add", "Add an operand", "Aggiungi un operando"),
    ("remove", "Remove this operand", "Togli questo operando"),
    ("operation", "Operation", "Operazione"),
    ("none", "none: only broadcast", "nessuna: solo broadcasting"),
    ("dim", "Dimensions", "Dimensioni"),
    ("dim-hint", "None: all of them", "Nessuna: tutte"),
    ("keepdim", "Keep them with size 1 (keepdim)", "Tienile con size 1 (keepdim)"),
    ("equation", "Equation", "Equazione"),
    ("documents", "Documents", "Documentazione"),
    ("project", "Project", "Progetto"),
    ("in-place", "Write the result into the first operand", "Scrivi il risultato nel primo operando"),
    ("examples", "Examples", "Esempi"),
    ("share", "Copy a link to this", "Copia un link a questa pagina"),
    ("copied", "Copied", "Copiato"),
    ("copy", "Copy", "Copia"),
    ("code", "As code", "Come codice"),
    ("apply", "Apply", "Applica"),
    ("theme", "Light or dark", "Chiaro o scuro"),
    ("explanation", "Explanation", "Spiegazione"),
    (
        "privacy",
        "Everything is computed on your machine; this page sends nothing anywhere.",
        "Tutto è calcolato sul tuo computer; questa pagina non invia nulla.",
    ),
];

/// The sentence about a mistake.
pub(crate) fn mistake(mistake: Mistake, lang: Lang) -> &'static str {
    let (english, italian) = match mistake {
        Mistake::Empty => ("Write a shape, such as 32, 1.", "Scrivi una forma, per esempio 32, 1."),
        Mistake::Sizes => (
            "Sizes are whole numbers or letters, with commas between: 32, 1.",
            "Le dimensioni sono numeri interi o lettere, separati da virgole: 32, 1.",
        ),
        Mistake::TooLarge => (
            "This size is too large for any tensor.",
            "Questa dimensione è troppo grande per qualsiasi tensore.",
        ),
        Mistake::Values => (
            "Values are numbers in nested lists: [[1, 2], [3, 4]], [[1+2j, 0.5]].",
            "I valori sono numeri in liste annidate: [[1, 2], [3, 4]], [[1+2j, 0.5]].",
        ),
        Mistake::Ragged => (
            "Lists of one level must be equally long, and hold only numbers or only lists.",
            "Le liste dello stesso livello devono essere ugualmente lunghe e contenere solo numeri o solo liste.",
        ),
        Mistake::TooMany => (
            "That is too much to draw: write the shape instead.",
            "È troppo da disegnare: scrivi invece la forma.",
        ),
        Mistake::DType => (
            "There is no such dtype; f32, i64 and bool are some.",
            "Questo dtype non esiste; esistono per esempio f32, i64 e bool.",
        ),
        Mistake::Name => (
            "A name has letters, digits and _, and begins with no digit.",
            "Un nome ha lettere, cifre e _, e non comincia con una cifra.",
        ),
    };
    pick(lang, english, italian)
}

/// The sentence about letters in the place of sizes, in English and Italian.
pub(crate) const LETTERS: (&str, &str) = (
    "A letter is a size other than 1, and different letters are different sizes.",
    "Una lettera è una dimensione diversa da 1, e lettere diverse sono dimensioni diverse.",
);

/// The sentence about operands that are missing.
pub(crate) fn too_few(op: &str, needed: usize, lang: Lang) -> String {
    match lang {
        Lang::It => format!("{op} prende {needed} operandi: aggiungine."),
        _ => format!("{op} takes {needed} operands: add some."),
    }
}

/// The examples: a label, and the fragment of each.
pub(crate) const EXAMPLES: [(&str, &str, &str); 11] = [
    ("Row and column", "Riga e colonna", "op=add&o=x=[[1, 2, 3]]&o=y=[[4], [5], [6]]"),
    ("Four dimensions", "Quattro dimensioni", "op=mul&o=a=5, 1, 4, 1&o=b=3, 1, 2"),
    ("A silent mistake in a loss", "Un errore silenzioso in una loss", "op=sub&o=output=32, 1&o=target=32"),
    ("Bias per channel", "Bias per canale", "op=add&o=images=8, 3, 32, 32&o=bias=3"),
    ("Sizes as letters", "Dimensioni come lettere", "op=sub&o=x=n, 1, d&o=y=m, d"),
    ("Rows without keepdim", "Righe senza keepdim", "op=sub&o=x=[[1, 2, 3], [4, 5, 6]]&o=mean=[2, 5]:f32"),
    ("In place", "Sul posto", "op=add&inplace=1&o=x=1, 3, 1&o=y=3, 1, 7"),
    (
        "Choose with where",
        "Scegliere con where",
        "op=where&o=mask=[[True], [False]]&o=x=[[1, 2, 3], [4, 5, 6]]&o=y=[[0, 0, 0]]",
    ),
    ("Mean of each row", "Media di ogni riga", "op=mean&dim=1&keepdim=1&o=x=[[1.0, 2, 6], [4, 5, 6]]"),
    (
        "Matrix product",
        "Prodotto di matrici",
        "op=matmul&o=x=[[1, 2, 3], [4, 5, 6]]&o=y=[[1, 0], [0, 1], [1, 1]]",
    ),
    (
        "Attention scores",
        "Punteggi di attenzione",
        "op=einsum&eq=bhqd,bhkd->bhqk&o=q=2, 8, 10, 64&o=k=2, 8, 12, 64",
    ),
];

/// The text in the language.
pub(crate) fn pick<'a>(lang: Lang, english: &'a str, italian: &'a str) -> &'a str {
    match lang {
        Lang::It => italian,
        _ => english,
    }
}
