// SPDX-License-Identifier: GPL-2.0-or-later
// The words of SystemTap's language. The text is read byte by byte (U+0000 to U+00FF stand for
// bytes), so that a token's place is its offset in the file.
//
// The token source (compiler/syntax) between this lexer and the parser expands macros, evaluates %(
// conditionals, inserts script arguments, joins adjacent strings, and gives each token whose meaning
// depends on its neighbours one of the roles listed under `tokens`. The parser can then make each
// choice by a single token.
lexer grammar DjstapLexer;

tokens {
    CallName,       // an identifier right before '('
    PointName,      // a component of a probe point: kernel, *at, return
    SignPlus, SignMinus, AddressOf, // + - & that no operand precedes
    PostIncrement, PostDecrement,   // ++ -- after an operand
    TupleOpen,      // [ that no operand precedes: [a, b] in x
    EmptyStatement, // ; that does not end a statement, but is one itself
    ReturnValue,    // return, followed by an expression
    Bad             // already reported
}

Probe:    'probe';
Global:   'global';
Private:  'private';
Function: 'function';
If:       'if';
Else:     'else';
While:    'while';
For:      'for';
Foreach:  'foreach';
In:       'in';
Limit:    'limit';
Break:    'break';
Continue: 'continue';
Next:     'next';
Return:   'return';
Delete:   'delete';
Try:      'try';
Catch:    'catch';
Long:     'long';
StringType: 'string';

// The operators that begin with @; any other @name is a macro.
AtDefine:     '@define';
AtCast:       '@cast';
AtDefined:    '@defined';
AtEntry:      '@entry';
AtPerf:       '@perf';
AtConst:      '@const';
AtVar:        '@var';
AtEnum:       '@enum';
AtKderef:     '@kderef';
AtUderef:     '@uderef';
AtKregister:  '@kregister';
AtUregister:  '@uregister';
AtProbewrite: '@probewrite';
AtCount:      '@count';
AtSum:        '@sum';
AtMin:        '@min';
AtMax:        '@max';
AtAvg:        '@avg';
AtVariance:   '@variance';
AtHistLog:    '@hist_log';
AtHistLinear: '@hist_linear';

Identifier: NameStart NamePart*;
TargetName: '$'+ NameStart NamePart*;
// $1 and $# insert an argument's text, @1 and @# a string.
Argument:       '$' ([0-9]+ | '#');
StringArgument: '@' ([0-9]+ | '#');
Dollars:        '$' '$'?;
AtName:         '@' NameStart [a-zA-Z0-9_]*;

// Checked when it is decoded, so that 12ab is one bad number rather than two words.
Number: [0-9] [a-zA-Z0-9_]*;
String: '"' StringPart* '"';
OpenString: '"' StringPart*;

Comment: ('#' ~[\n]* | '//' ~[\n]* | '/*' (~'*' | '*'+ ~[*/])* '*'+ '/') -> skip;
OpenComment: '/*' (~'*' | '*'+ ~[*/])* '*'*;
EmbeddedC: '%{' (~'%' | '%'+ ~[%}])* '%'+ '}';
OpenEmbeddedC: '%{' (~'%' | '%'+ ~[%}])* '%'*;
Space: [ \t\r\n\f\u000b]+ -> skip;

ConditionOpen:  '%(';
ConditionThen:  '%?';
ConditionElse:  '%:';
ConditionClose: '%)';

OpenParen:    '(';
CloseParen:   ')';
OpenBrace:    '{';
CloseBrace:   '}';
OpenBracket:  '[';
CloseBracket: ']';
Comma:        ',';
Semicolon:    ';';
Colon:        ':';
Question:     '?';
Arrow:        '->';

Not:        '!';
Complement: '~';
Increment:  '++';
Decrement:  '--';
Plus:       '+';
Minus:      '-';
Star:       '*';
Slash:      '/';
Percent:    '%';
Dot:        '.';
ShiftLeft:  '<<';
ShiftRight: '>>';
ShiftRightLogical: '>>>';
Less:         '<';
LessEqual:    '<=';
Greater:      '>';
GreaterEqual: '>=';
Equal:        '==';
NotEqual:     '!=';
Matches:      '=~';
MatchesNot:   '!~';
Ampersand:    '&';
Caret:        '^';
Bar:          '|';
AndAnd:       '&&';
OrOr:         '||';

Assign:           '=';
AddAssign:        '+=';
SubtractAssign:   '-=';
MultiplyAssign:   '*=';
DivideAssign:     '/=';
ModuloAssign:     '%=';
ConcatAssign:     '.=';
ShiftLeftAssign:  '<<=';
ShiftRightAssign: '>>=';
AndAssign:        '&=';
XorAssign:        '^=';
OrAssign:         '|=';
Aggregate:        '<<<';

// Reported only if it reaches the parser: a branch that is not taken may contain anything.
Unknown: [\u00c2-\u00f4] [\u0080-\u00bf]+ | [\u0000-\u00ff];

fragment NameStart: [a-zA-Z_];
fragment NamePart: [a-zA-Z0-9_$];
fragment StringPart: '\\' [\u0000-\u00ff] | ~["\\\n];
