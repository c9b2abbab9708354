"""What each language calls a definition, an import and a string. Node kinds are tree-sitter's.

Kinds of all languages stand in one table: a kind counts only where the node has a name, so a name that two grammars
use for different things (`module`) does no harm.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath

_C_FAMILY = frozenset({"javascript", "tsx", "typescript", "go", "kotlin", "swift", "scala"})


@dataclass(frozen=True, slots=True)
class Language:
    """How one language is read. `grammar` is ast-grep's name for it.

    `blocks`: kinds of nodes whose extent only indentation shows. `quotes`: string kinds for which the sort of quotes
    means nothing. `free_semicolons`: a semicolon at the end of a statement says nothing.
    """

    grammar: str
    blocks: frozenset[str] = frozenset()
    quotes: frozenset[str] = frozenset()
    free_semicolons: bool = False


def _language(grammar: str, *, blocks: tuple[str, ...] = (), quotes: tuple[str, ...] = ()) -> Language:
    free = grammar in _C_FAMILY or grammar in ("python", "ruby", "lua")
    return Language(grammar, frozenset(blocks), frozenset(quotes), free)


_SCRIPT_QUOTES = ("string", "template_string")
_LANGUAGES: dict[str, Language] = {
    ".py .pyi .pyw": _language("python", blocks=("block",), quotes=("string",)),
    ".js .mjs .cjs .jsx": _language("javascript", quotes=_SCRIPT_QUOTES),
    ".ts .mts .cts": _language("typescript", quotes=_SCRIPT_QUOTES),
    ".tsx": _language("tsx", quotes=_SCRIPT_QUOTES),
    ".go": _language("go"),
    ".rs": _language("rust"),
    ".java": _language("java"),
    ".c .h": _language("c"),
    ".cc .cpp .cxx .hh .hpp .hxx": _language("cpp"),
    ".cs": _language("csharp"),
    ".rb .rake": _language("ruby", quotes=("string",)),
    ".php": _language("php", quotes=("string", "encapsed_string")),
    ".kt .kts": _language("kotlin"),
    ".swift": _language("swift"),
    ".scala .sc": _language("scala"),
    ".lua": _language("lua", quotes=("string",)),
    ".sh .bash": _language("bash"),
}
_BY_SUFFIX = {suffix: language for suffixes, language in _LANGUAGES.items() for suffix in suffixes.split()}


def _kinds(text: str) -> frozenset[str]:
    return frozenset(text.split())


def language_of(path: str) -> Language | None:
    """The language of a file by its extension; None for one that is not read as source."""
    return _BY_SUFFIX.get(PurePosixPath(path).suffix.lower())


FUNCTIONS = _kinds(
    """
    function_definition function_declaration generator_function_declaration function_item method
    method_definition method_declaration constructor_declaration singleton_method local_function_statement
    init_declaration deinit_declaration secondary_constructor function_signature function_signature_item
    method_signature abstract_method_signature protocol_function_declaration macro_definition
    preproc_function_def
    """
)
"""Definitions with a body of their own. What is bound inside one is a local, no definition."""

TYPES = _kinds(
    """
    class_definition class_declaration abstract_class_declaration class_specifier struct_specifier
    union_specifier enum_specifier namespace_definition interface_declaration enum_declaration
    struct_declaration record_declaration annotation_type_declaration namespace_declaration
    trait_declaration internal_module type_spec struct_item enum_item union_item impl_item trait_item
    mod_item class module object_declaration companion_object protocol_declaration object_definition
    trait_definition delegate_declaration
    """
)
"""Definitions that hold others."""

VALUES = _kinds(
    """
    assignment augmented_assignment assignment_expression variable_declarator field_definition
    public_field_definition pair type_alias_declaration type_alias const_spec var_spec const_item
    static_item type_item declaration type_definition alias_declaration preproc_def property_declaration
    const_element property_element val_definition var_definition type_definition
    """
)
"""Names bound to something, where no function is around them."""

FUNCTION_VALUES = _kinds(
    """
    arrow_function function_expression generator_function anonymous_function lambda lambda_expression
    func_literal
    """
)
"""Functions without a name; bound to one, they are definitions wherever they stand."""

WRAPPERS = _kinds(
    """
    decorated_definition export_statement template_declaration ambient_declaration expression_statement
    lexical_declaration variable_declaration const_declaration var_declaration type_declaration
    field_declaration event_field_declaration property_declaration
    """
)
"""Nodes that belong to the one definition inside them: decorators, `export`, `const`."""

IMPORTS = _kinds(
    """
    import_statement import_from_statement future_import_statement import_declaration use_declaration
    extern_crate_declaration using_directive using_declaration preproc_include namespace_use_declaration
    import_list import_header
    """
)
REQUIRES = frozenset({"require", "require_relative"})
"""Functions whose call is an import."""

NAME_FIELDS = ("name", "declarator", "left", "property", "key", "pattern")
NAME_KINDS = frozenset({"simple_identifier", "type_identifier", "identifier", "name", "word", "variable_declaration"})

LOOSE_PARENTS = _kinds(
    """
    return_statement assignment augmented_assignment assignment_expression expression_statement
    keyword_argument argument_list arguments variable_declarator init_declarator pair list array
    assert_statement default_parameter raise_statement throw_statement yield if_statement elif_clause
    while_statement for_statement for_in_clause parenthesized_expression expression_list
    """
)
"""Parents under which parentheses around a whole expression change nothing."""
LOOSE_PARENTHESES = frozenset({"parenthesized_expression", "tuple"})
BARE_PARENTHESES = frozenset({"import_from_statement", "with_clause"})
"""Nodes whose own parentheses only allow line breaks."""
ONE_ELEMENT_MATTERS = frozenset({"tuple", "tuple_expression", "tuple_pattern", "tuple_type"})
"""Nodes in which a comma after a single element changes the meaning."""
