// SPDX-License-Identifier: GPL-2.0-or-later
// SystemTap's language, after the preprocessor. Each choice is made by one token (see the lexer's
// note on roles); precedence is the order of the alternatives of `expression`. Everything the compiler
// reads is labelled: it keeps no parse tree beyond the labels.
parser grammar DjstapParser;
options { tokenVocab = DjstapLexer; }

script: item* EOF;

item
    : access=Private (function=functionDeclaration | Global? globals=globalList Semicolon?)
    | function=functionDeclaration
    | probe=probeDeclaration
    | Global globals=globalList Semicolon?
    | code=EmbeddedC
    ;

// ---- declarations --------------------------------------------------------------------------------

globalList: list+=globalVariable (Comma list+=globalVariable)*;
// a, a[100], a%, a%[100], a = 1
globalVariable
    : name=Identifier wrap=Percent? ((OpenBracket | TupleOpen) size=Number CloseBracket)? (Assign initial=literal)?
    ;
literal: minus=SignMinus? number=Number | string=String;

functionDeclaration
    : Function name=functionName (Colon type=typeName)? OpenParen (parameters+=parameter (Comma parameters+=parameter)*)?
      CloseParen (Colon priority=Number)? (body=block | code=EmbeddedC)
    ;
functionName: name=(Identifier | CallName);
parameter: name=Identifier (Colon type=typeName)?;
typeName: Long | StringType;

// A probe, or an alias with the names that precede = or +=: probe one = two = point { }.
probeDeclaration
    : Probe lists+=pointList (operators+=(Assign | AddAssign) lists+=pointList)* body=block (Comma epilogue=block)?
    ;
pointList: list+=point (Comma list+=point)*;
point
    : components+=component (Dot components+=component)* mark=(Question | Not)?
      (If OpenParen condition=expression CloseParen)?
    ;
component
    : name=PointName (OpenParen argument=literal CloseParen)?
    | open=OpenBrace choices+=point (Comma choices+=point)* CloseBrace
    ;

// ---- statements ----------------------------------------------------------------------------------

block: OpenBrace list+=statement* CloseBrace;
statement
    : compound=block
    | If OpenParen condition=expression CloseParen then=statement (Else otherwise=statement)?
    | While OpenParen condition=expression CloseParen body=statement
    | For OpenParen init=expression? Semicolon condition=expression? Semicolon advance=expression? CloseParen body=statement
    | Foreach OpenParen head=foreachHead CloseParen body=statement
    | Try compound=block Catch (OpenParen variable=Identifier CloseParen)? handler=block
    | (Break | Continue | Next | Return) Semicolon?
    | (ReturnValue | Delete) value=expression Semicolon?
    | EmptyStatement
    | value=expression Semicolon?
    ;

// k in a, [k, l] in a, v = k in a, v = [k, l] in a[1, *], each name and the array with + or -
foreachHead
    : (first=foreachKey (Assign (second=foreachKey | tuple=foreachTuple))? | tuple=foreachTuple)
      In array=arrayName slice=slices? sortStat=statistic? order=sortOrder? (Limit limit=expression)?
    ;
foreachTuple: TupleOpen keys+=foreachKey (Comma keys+=foreachKey)* CloseBracket;
foreachKey: name=Identifier order=sortOrder?;
sortOrder: op=(Plus | SignPlus | Minus | SignMinus);
statistic: op=(AtCount | AtSum | AtMin | AtMax | AtAvg | AtVariance);
slices: OpenBracket list+=indexItem (Comma list+=indexItem)* CloseBracket;

// ---- expressions ---------------------------------------------------------------------------------

expression
    : operand=postfix
    | op=(SignPlus | SignMinus | Not | Complement | Increment | Decrement) right=expression
    | left=expression op=(Star | Slash | Percent) right=expression
    | left=expression op=(Plus | Minus) right=expression
    | left=expression op=Dot right=expression
    | left=expression op=(ShiftLeft | ShiftRight | ShiftRightLogical) right=expression
    | left=expression op=(Less | LessEqual | Greater | GreaterEqual | Equal | NotEqual) right=expression
    | left=expression op=(Matches | MatchesNot) pattern=String
    | left=expression op=In array=arrayName
    | left=expression op=Ampersand right=expression
    | left=expression op=Caret right=expression
    | left=expression op=Bar right=expression
    | left=expression op=AndAnd right=expression
    | left=expression op=OrOr right=expression
    | <assoc=right> left=expression op=Question middle=expression Colon right=expression
    | <assoc=right> left=expression
      op=(Assign | AddAssign | SubtractAssign | MultiplyAssign | DivideAssign | ModuloAssign | ConcatAssign
         | ShiftLeftAssign | ShiftRightAssign | AndAssign | XorAssign | OrAssign | Aggregate)
      right=expression
    ;

// An operand and its suffixes: a[1], $x->y[2]$, f(x)->z, a++.
postfix: address=AddressOf? base=primary steps+=step* crement=(PostIncrement | PostDecrement)?;
step
    : Arrow member=Identifier
    | OpenBracket indexes+=indexItem (Comma indexes+=indexItem)* CloseBracket
    | pretty=Dollars
    ;
indexItem: Star | value=expression;

primary
    : token=(Number | String | Identifier | TargetName | EmbeddedC)
    | token=CallName OpenParen (arguments+=expression (Comma arguments+=expression)*)? CloseParen
    | token=OpenParen inner=expression CloseParen
    | token=TupleOpen indexes+=indexItem (Comma indexes+=indexItem)* CloseBracket In array=arrayName
    | token=AtCast OpenParen inner=expression Comma strings+=String (Comma strings+=String)? CloseParen
    | token=AtVar OpenParen strings+=String (Comma strings+=String)? CloseParen
    | token=(AtPerf | AtConst) OpenParen strings+=String CloseParen
    | token=(AtDefined | AtEntry | AtProbewrite) OpenParen inner=expression CloseParen
    | token=(AtKregister | AtUregister) OpenParen number=Number CloseParen
    | token=(AtKderef | AtUderef) OpenParen number=Number Comma inner=expression CloseParen
    | token=AtEnum OpenParen arguments+=expression (Comma arguments+=expression)* CloseParen
    | extract=statisticCall
    ;
// A histogram may be indexed, iterated over, and used with `in`, like an array.
arrayName: name=Identifier | histogram=statisticCall;
statisticCall
    : op=(AtCount | AtSum | AtMin | AtMax | AtAvg | AtVariance | AtHistLog | AtHistLinear)
      OpenParen inner=expression (Comma parameters+=literal)* CloseParen
    ;
