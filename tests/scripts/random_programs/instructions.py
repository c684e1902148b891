"""The forms of PTX instructions in random programs.

A line is `opcode: destinations = sources`; {a,b} means either. Operands are letters:

  r i32, f fp32, x two fp16, y two bf16      registers of 32 bits
  h i16, u fp16, v bf16                      of 16 bits
  l i64, d fp64                              of 64 bits
  p predicate
  b r or a small count, e a count below 256, n r that is not zero, m l that is not zero, g h that is not zero, t look-up table,
  B immediate byte, k mask of lanes (all of them), s immediate 0 to 31, c shuffle's clamp and segment

An upper-case F, D, R, L, X, Y, U, V or H is never an immediate. `|` between two destinations is PTX syntax.
"""

import itertools
import re

ROUND = "{rn,rz,rm,rp}"
INT_CMP = "{eq,ne,lt,le,gt,ge}"
FLOAT_CMP = "{eq,ne,lt,le,gt,ge,equ,neu,ltu,leu,gtu,geu,num,nan}"
BOOL = "{and,or,xor}"

INTEGER = f"""
{{add,sub}}.{{u16,s16}}: h = h h
{{add,sub}}.{{u32,s32}}: r = r r
{{add,sub}}.sat.s32: r = r r
{{add,sub}}.{{u64,s64}}: l = l l
add.{{u16x2,s16x2}}: r = R R
mul.{{lo,hi}}.{{u16,s16}}: h = h h
mul.wide.{{u16,s16}}: r = h h
mul.{{lo,hi}}.{{u32,s32}}: r = r r
mul.wide.{{u32,s32}}: l = r r
mul.{{lo,hi}}.{{u64,s64}}: l = l l
mul24.{{lo,hi}}.{{u32,s32}}: r = r r
mad.{{lo,hi}}.{{u16,s16}}: h = h h h
mad.wide.{{u16,s16}}: r = h h r
mad.{{lo,hi}}.{{u32,s32}}: r = r r r
mad.hi.sat.s32: r = r r r
mad.wide.{{u32,s32}}: l = r r l
mad.{{lo,hi}}.{{u64,s64}}: l = l l l
mad24.{{lo,hi}}.{{u32,s32}}: r = r r r
mad24.hi.sat.s32: r = r r r
sad.{{u16,s16}}: h = h h h
sad.{{u32,s32}}: r = r r r
sad.{{u64,s64}}: l = l l l
{{div,rem}}.{{u16,s16}}: h = h g
{{div,rem}}.{{u32,s32}}: r = r n
{{div,rem}}.{{u64,s64}}: l = l m
{{abs,neg}}.s16: h = H
{{abs,neg}}.s32: r = R
{{abs,neg}}.s64: l = L
{{min,max}}.{{u16,s16}}: h = h h
{{min,max}}.{{u32,s32}}: r = r r
{{min,max}}.{{u64,s64}}: l = l l
{{min,max}}.{{u16x2,s16x2}}: r = R R
{{min,max}}.relu.{{s32,s16x2}}: r = R R
{{popc,clz}}.b32: r = R
{{popc,clz}}.b64: r = L
bfind{{,.shiftamt}}.{{u32,s32}}: r = R
bfind{{,.shiftamt}}.{{u64,s64}}: r = L
brev.b32: r = R
brev.b64: l = L
bfe.{{u32,s32}}: r = r e e
bfe.{{u64,s64}}: l = l e e
bfi.b32: r = r r e e
bfi.b64: l = l l e e
szext.{{wrap,clamp}}.{{u32,s32}}: r = r b
bmsk.{{wrap,clamp}}.b32: r = b b
dp4a.{{u32,s32}}.{{u32,s32}}: r = R R r
dp2a.{{lo,hi}}.{{u32,s32}}.{{u32,s32}}: r = R R r
vabsdiff4.u32.u32.u32{{,.add}}: r = R R R
vabsdiff4.s32.s32.s32{{,.add}}: r = R R R
{{vadd2,vsub2,vavrg2,vmin2,vmax2,vadd4,vsub4,vavrg4,vmin4,vmax4}}.{{u32.u32.u32,s32.s32.s32}}: r = R R R
{{and,or,xor}}.b16: h = h h
{{and,or,xor}}.b32: r = r r
{{and,or,xor}}.b64: l = l l
{{and,or,xor}}.pred: p = p p
not.b16: h = H
{{not,cnot}}.b32: r = R
{{not,cnot}}.b64: l = L
not.pred: p = p
lop3.b32: r = R R R t
lop3.{{or,and}}.b32: r|p = R R R t p
shf.{{l,r}}.{{clamp,wrap}}.b32: r = r r b
shl.b16: h = h b
shl.b32: r = r b
shl.b64: l = l b
shr.{{b16,u16,s16}}: h = h b
shr.{{u32,s32}}: r = r b
shr.{{u64,s64}}: l = l b
prmt.b32: r = r r r
prmt.b32.{{f4e,b4e,rc8,ecl,ecr,rc16}}: r = R R r
"""

SELECTION = f"""
selp.b16: h = h h p
selp.{{b32,s32}}: r = r r p
selp.b64: l = l l p
selp.f32: f = f f p
selp.f64: d = d d p
slct.u32.s32: r = r r r
slct.s64.s32: l = l l r
slct{{,.ftz}}.b32.f32: r = r r F
slct{{,.ftz}}.f64.f32: d = d d F
setp.{INT_CMP}.s16: p = h h
setp.{INT_CMP}.u16: p = h h
setp.{INT_CMP}.s32: p = r r
setp.{{lo,ls,hi,hs,eq,ne}}.u32: p = r r
setp.{INT_CMP}.s64: p = l l
setp.{{lo,ls,hi,hs}}.u64: p = l l
setp.{INT_CMP}.{BOOL}.s32: p|p = r r p
setp.{{lt,ge,eq}}.{BOOL}.u64: p|p = l l p
setp.{FLOAT_CMP}{{,.ftz}}.f32: p = f f
setp.{FLOAT_CMP}.f64: p = d d
setp.{{lt,geu,nan}}.{BOOL}{{,.ftz}}.f32: p|p = f f p
setp.{{lt,geu,nan}}.{BOOL}.f64: p|p = d d p
setp.{FLOAT_CMP}{{,.ftz}}.f16: p = u u
setp.{FLOAT_CMP}{{,.ftz}}.f16x2: p|p = x x
setp.{FLOAT_CMP}.bf16: p = v v
setp.{FLOAT_CMP}.bf16x2: p|p = y y
setp.{{lt,geu}}.{BOOL}.f16x2: p|p = x x p
set.{INT_CMP}.{{u32,s32,f32}}.s32: r = r r
set.{{lo,hi}}.u32.u64: r = l l
set.{FLOAT_CMP}{{,.ftz}}.{{u32,f32}}.f32: r = f f
set.{FLOAT_CMP}.{{s32,f32}}.f64: r = d d
set.{{lt,geu}}.{BOOL}.{{u32,f32}}.f32: r = f f p
set.{FLOAT_CMP}{{,.ftz}}.f16x2.f16x2: x = x x
set.{FLOAT_CMP}.bf16x2.bf16x2: y = y y
set.{FLOAT_CMP}{{,.ftz}}.f16.f16: u = u u
set.{FLOAT_CMP}.u32.f16: r = u u
set.{FLOAT_CMP}.bf16.bf16: v = v v
"""

FLOAT = f"""
{{add,sub,mul}}.{ROUND}{{,.ftz}}{{,.sat}}.f32: f = f f
fma.{ROUND}{{,.ftz}}{{,.sat}}.f32: f = f f f
{{min,max}}{{,.ftz}}{{,.NaN}}{{,.xorsign.abs}}.f32: f = f f
{{abs,neg}}{{,.ftz}}.f32: f = F
copysign.f32: f = f f
testp.{{finite,infinite,number,notanumber,normal,subnormal}}.f32: p = F
testp.{{finite,infinite,number,notanumber,normal,subnormal}}.f64: p = D
div.{ROUND}{{,.ftz}}.f32: f = f f
{{rcp,sqrt}}.{ROUND}{{,.ftz}}.f32: f = F
{{add,sub,mul}}.{ROUND}.f64: d = d d
fma.{ROUND}.f64: d = d d d
{{min,max}}.f64: d = d d
{{abs,neg}}.f64: d = D
copysign.f64: d = d d
div.{ROUND}.f64: d = d d
{{rcp,sqrt}}.{ROUND}.f64: d = D
{{add,sub,mul}}.rn{{,.ftz}}{{,.sat}}.f16: u = U U
{{add,sub,mul}}.rn{{,.ftz}}{{,.sat}}.f16x2: x = X X
{{add,sub,mul}}.rn.bf16: v = V V
{{add,sub,mul}}.rn.bf16x2: y = Y Y
fma.rn{{,.ftz}}{{,.sat,.relu}}.f16: u = U U U
fma.rn{{,.ftz}}{{,.sat,.relu}}.f16x2: x = X X X
fma.rn{{,.relu}}.bf16: v = V V V
fma.rn{{,.relu}}.bf16x2: y = Y Y Y
fma.rn.oob{{,.relu}}.f16x2: x = X X X
fma.rn.oob{{,.relu}}.bf16x2: y = Y Y Y
{{min,max}}{{,.ftz}}{{,.NaN}}{{,.xorsign.abs}}.f16: u = U U
{{min,max}}{{,.ftz}}{{,.NaN}}{{,.xorsign.abs}}.f16x2: x = X X
{{min,max}}{{,.NaN}}{{,.xorsign.abs}}.bf16: v = V V
{{min,max}}{{,.NaN}}{{,.xorsign.abs}}.bf16x2: y = Y Y
{{abs,neg}}.f16: u = U
{{abs,neg}}.f16x2: x = X
{{abs,neg}}.bf16: v = V
{{abs,neg}}.bf16x2: y = Y
"""

_INT32 = "{s8,u8,s16,u16,s32,u32}"
CONVERSION = f"""
cvt.{{u8,s8}}.{{u16,s16}}: r = H
cvt{{,.sat}}.{{u8,s8}}.{{u32,s32}}: r = R
cvt{{,.sat}}.{{u8,s8}}.{{u64,s64}}: r = L
cvt.{{u16,s16,u32,s32}}.{{u8,s8}}: r = R
cvt{{,.sat}}.{{u16,s16}}.{{u32,s32}}: r = R
cvt{{,.sat}}.{{u16,s16}}.{{u64,s64}}: r = L
cvt.{{u32,s32}}.{{u16,s16}}: r = H
cvt.sat.u32.s32: r = R
cvt.sat.s32.u32: r = R
cvt{{,.sat}}.{{u32,s32}}.{{u64,s64}}: r = L
cvt.{{u64,s64}}.{{u8,s8}}: l = R
cvt.{{u64,s64}}.{{u32,s32}}: l = R
cvt.{{u64,s64}}.{{u16,s16}}: l = H
cvt.sat.{{u64.s64,s64.u64}}: l = L
cvt.{ROUND}.f32.{{u8,s8,u32,s32}}: f = R
cvt.{ROUND}.f32.{{u16,s16}}: f = H
cvt.{ROUND}.f32.{{u64,s64}}: f = L
cvt.{ROUND}.f64.{{u8,s8,u32,s32}}: d = R
cvt.{ROUND}.f64.{{u16,s16}}: d = H
cvt.{ROUND}.f64.{{u64,s64}}: d = L
cvt.{ROUND}.f16.{{u8,s8,u32,s32}}: u = R
cvt.{ROUND}.f16.{{u16,s16}}: u = H
cvt.{ROUND}.f16.{{u64,s64}}: u = L
cvt.{ROUND}.bf16.{{u32,s32}}: v = R
cvt.{ROUND}.bf16.{{u16,s16}}: v = H
cvt.{ROUND}.bf16.{{u64,s64}}: v = L
cvt.{{rni,rzi,rmi,rpi}}{{,.ftz}}.{_INT32}.f32: r = F
cvt.{{rni,rzi,rmi,rpi}}{{,.ftz}}.{{u64,s64}}.f32: l = F
cvt.{{rni,rzi,rmi,rpi}}.{_INT32}.f64: r = D
cvt.{{rni,rzi,rmi,rpi}}.{{u64,s64}}.f64: l = D
cvt.{{rni,rzi,rmi,rpi}}.{_INT32}.f16: r = U
cvt.{{rni,rzi,rmi,rpi}}.{{u64,s64}}.f16: l = U
cvt.{{rni,rzi,rmi,rpi}}.{{u32,s32}}.bf16: r = V
cvt.{{rni,rzi,rmi,rpi}}.{{u16,s16}}.bf16: h = V
cvt.{{rni,rzi,rmi,rpi}}.{{u64,s64}}.bf16: l = V
cvt.{{rni,rzi,rmi,rpi}}{{,.ftz}}{{,.sat}}.f32.f32: f = F
cvt.{{rni,rzi,rmi,rpi}}{{,.sat}}.f64.f64: d = D
cvt.{{rni,rzi,rmi,rpi}}{{,.sat}}.f16.f16: u = U
cvt{{,.ftz}}.sat.f32.f32: f = F
cvt.sat.f64.f64: d = D
cvt.f32.f16: f = U
cvt.ftz.f32.f16: f = U
cvt.sat.f32.f16: f = U
cvt.f64.f16: d = U
cvt.f32.bf16: f = V
cvt.f64.bf16: d = V
cvt{{,.ftz}}{{,.sat}}.f64.f32: d = F
cvt.{ROUND}{{,.ftz}}{{,.sat}}.f32.f64: f = D
cvt.{ROUND}{{,.ftz}}{{,.sat}}.f16.f32: u = F
cvt.{ROUND}{{,.sat}}.f16.f64: u = D
cvt.{ROUND}.bf16.f32: v = F
cvt.{{rn,rz}}.relu.bf16.f32: v = F
cvt.{{rn,rz}}.relu.f16.f32: u = F
cvt.{ROUND}.bf16.f64: v = D
cvt.{ROUND}.bf16.f16: v = U
cvt.{ROUND}.f16.bf16: u = V
cvt.rna.tf32.f32: f = F
cvt.{{rn,rz}}{{,.relu}}.tf32.f32: f = F
cvt.{{rn,rz}}{{,.relu}}.f16x2.f32: x = F F
cvt.{{rn,rz}}{{,.relu}}.bf16x2.f32: y = F F
cvt.rn.satfinite{{,.relu}}.{{e4m3x2,e5m2x2}}.f32: h = F F
cvt.rn.satfinite{{,.relu}}.{{e4m3x2,e5m2x2}}.f16x2: h = X
cvt.rn{{,.relu}}.f16x2.{{e4m3x2,e5m2x2}}: x = H
cvt.pack.sat.{{u16,s16}}.s32: r = R R
cvt.pack.sat.{{u8,s8}}.s32.b32: r = R R R
"""

MOVES = """
mov.b32: r = [hh]
mov.b32: [hh] = R
mov.b64: l = [rr]
mov.b64: [rr] = L
mov.b64: l = [hhhh]
mov.b64: [hhhh] = L
mov.u32: r = %laneid
mov.u32: r = %tid.x
mov.u32: r = %ctaid.x
mov.u32: r = %ntid.x
mov.u32: r = %lanemask_{eq,lt,le,gt,ge}
mov.pred: p = p
"""

# All lanes of a warp, for some all threads of a block, execute these together.
COLLECTIVE = """
vote.sync.{all,any,uni}.pred: p = p k
vote.sync.ballot.b32: r = p k
match.any.sync.b32: r = b k
match.any.sync.b64: r = L k
match.all.sync.b32: r|p = b k
match.all.sync.b64: r|p = L k
redux.sync.{add,min,max}.{u32,s32}: r = R k
redux.sync.{and,or,xor}.b32: r = R k
shfl.sync.{up,down,bfly,idx}.b32: r|p = R b c k
shfl.sync.{up,down,bfly,idx}.b32: r|p = F s c k
elect.sync: r|p = k
barrier.cta.red.popc.aligned.u32: r = bar p
barrier.cta.red.{and,or}.aligned.pred: p = bar p
"""

# Compared within the errors that the PTX ISA states; their results are not used as operands.
APPROXIMATE = """
{ex2,lg2,sin,cos,sqrt,rsqrt,rcp}.approx{,.ftz}.f32: f = F
tanh.approx.f32: f = F
div.{approx,full}{,.ftz}.f32: f = F F
{ex2,tanh}.approx.f16: u = U
{ex2,tanh}.approx.f16x2: x = X
ex2.approx.ftz.bf16: v = V
ex2.approx.ftz.bf16x2: y = Y
tanh.approx.bf16: v = V
tanh.approx.bf16x2: y = Y
{rcp,rsqrt}.approx.ftz.f64: d = D
"""


class Form:
    """One opcode with all its modifiers, and its operands' letters."""

    def __init__(self, opcode, to, source, group):
        self.opcode = opcode
        self.to = to
        self.source = source
        self.group = group

    def __repr__(self):
        return f"{self.opcode}: {self.to} = {' '.join(self.source)}"


def expand(text):
    """All expansions of {a,b} and {,c} in the text."""
    parts = [part.split(",") for part in re.split(r"[{}]", text)]
    choices = [part if i % 2 else [",".join(part)] for i, part in enumerate(parts)]
    return ["".join(one) for one in itertools.product(*choices)]


def forms_of(text, group):
    forms = []
    for line in text.strip().splitlines():
        opcode, operands = line.split(": ")
        to, sources = operands.split(" = ")
        for one in expand(opcode):
            for sources_of_one in expand(sources):
                forms.append(Form(one, to, sources_of_one.split(), group))
    return forms


def exact_forms():
    groups = {"integer": INTEGER, "selection": SELECTION, "float": FLOAT, "conversion": CONVERSION, "moves": MOVES,
              "collective": COLLECTIVE}
    return [form for name, text in groups.items() for form in forms_of(text, name)]


def approximate_forms():
    return forms_of(APPROXIMATE, "approximate")
