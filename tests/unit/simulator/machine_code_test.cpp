// Listings of this project's kernels by cuobjdump 13, shortened.
#include "sass/machine_code.hpp"

#include "sass/instruction_class.hpp"
#include "sass/kernel_resource.hpp"
#include "support/catch.hpp"

namespace gpuexp::test {
namespace {

constexpr const char* kSass = R"sass(
Fatbin ptx code:
================
arch = sm_80
code version = [9,0]
ptxasOptions =

Fatbin elf code:
================
arch = sm_80
code version = [1,8]
host = linux
compile_size = 64bit

	code for sm_80
	.target	sm_80

		Function : copy
	.headerflags	@"EF_CUDA_TEXMODE_UNIFIED EF_CUDA_64BIT_ADDRESS EF_CUDA_SM80"
        /*0000*/                   IMAD.MOV.U32 R1, RZ, RZ, c[0x0][0x28] ;  /* 0x00000a00ff017624 */
                                                                            /* 0x000fe200078e00ff */
        /*0010*/              @!P0 LDG.E.128.CONSTANT R8, [R2.64+0x10] ;    /* 0x0000100402088981 */
                                                                            /* 0x000ea8000c1e9d00 */
        /*0020*/                   EXIT ;                                   /* 0x000000000000794d */
                                                                            /* 0x000fea0003800000 */
        /*0030*/                   BRA 0x30;                                /* 0xfffffff000007947 */
                                                                            /* 0x000fc0000383ffff */
        /*0040*/                   NOP;                                     /* 0x0000000000007918 */
                                                                            /* 0x000fc00000000000 */
		..........

Fatbin elf code:
================
arch = sm_90a

	code for sm_90a
	.target	sm_90a

		Function : copy
	.headerflags	@"EF_CUDA_ACCELERATORS EF_CUDA_SM90 EF_CUDA_VIRTUAL_SM(EF_CUDA_SM90)"
        /*0000*/                   HFMA2.MMA R7, -RZ, RZ, 2, 0 ;            /* 0x40000000ff077435 */
                                                                            /* 0x000fe200000001ff */
        /*0010*/                   HFMA2.MMA R3, R3, R7, -RZ ;              /* 0x0000000703037235 */
                                                                            /* 0x000fe200001000ff */
        /*0020*/                   BRA.U !UP0, 0x60 ;                       /* 0x0000000108087547 */
                                                                            /* 0x000fea000b800000 */
        /*0030*/              @UP1 UIADD3 UR4, UR4, 0x1, URZ ;              /* 0x0000000104041890 */
                                                                            /* 0x000fe2000fffe03f */
        /*0040*/               @P0 BRA P1, 0x60 ;                           /* 0x0000000000200947 */
                                                                            /* 0x000fea0000800000 */
        /*0050*/                   BRA 0x20 ;                               /* 0xfffffffc00007947 */
                                                                            /* 0x000fea000383ffff */
        /*0060*/              @!PT LDS RZ, [RZ] ;                           /* 0x00000000fffff984 */
                                                                            /* 0x000fe20000000800 */
        /*0070*/                   EXIT ;                                   /* 0x000000000000794d */
                                                                            /* 0x000fea0003800000 */
        /*0080*/                   BRA 0x80;                                /* 0xfffffffc00fc7947 */
                                                                            /* 0x000fc0000383ffff */
        /*0090*/                   NOP;                                     /* 0x0000000000007918 */
                                                                            /* 0x000fc00000000000 */
		..........

		Function : _ZN6gpuexp4nullEv
	.headerflags	@"EF_CUDA_ACCELERATORS EF_CUDA_SM90 EF_CUDA_VIRTUAL_SM(EF_CUDA_SM90)"
        /*0000*/                   EXIT ;                                   /* 0x000000000000794d */
                                                                            /* 0x000fea0003800000 */
        /*0010*/                   BRA 0x10;                                /* 0xfffffffc00fc7947 */
                                                                            /* 0x000fc0000383ffff */
)sass";

// Classes of instructions in the table's spelling.
std::vector<std::string> classes_of(const std::string& text) {
  std::vector<std::string> found;
  for (const ClassCount& c : count_classes(read_counts(text)))
    found.push_back(c.name + " " + std::to_string(c.count));
  return found;
}

using Names = std::vector<std::string>;

TEST_CASE("a listing is read by kernel and architecture") {
  const auto kernels = read_code(kSass);
  REQUIRE(kernels.size() == 3);
  CHECK(kernels[0].lowered_name == "copy");
  CHECK(kernels[0].architecture == "sm_80");
  CHECK(kernels[1].lowered_name == "copy");
  CHECK(kernels[1].architecture == "sm_90a");
  CHECK(kernels[2].lowered_name == "_ZN6gpuexp4nullEv");
  CHECK(kernels[2].architecture == "sm_90a");
  CHECK(to_text(count_instructions(kernels[2])) == "1 EXIT\n");
}

TEST_CASE("a listing counts instructions with an effect, with their guards") {
  const auto kernels = read_code(kSass);
  CHECK(to_text(count_instructions(kernels.at(0))) ==
        "1 EXIT\n1 IMAD.MOV.U32\n1 @P LDG.E.128.CONSTANT\n");
  CHECK(to_text(count_instructions(kernels.at(1))) ==
        "1 BRA\n1 BRA.U\n1 EXIT\n1 HFMA2.MMA\n1 HFMA2.MMA (constant)\n1 @P BRA\n1 @UP UIADD3\n");
}

TEST_CASE("text that is not a listing has no kernel") {
  CHECK(read_code("").empty());
  CHECK(read_code("/*0000*/ EXIT ;\n/*zz*/\n/**/ X ;\n\n").empty());
  const auto cut = read_code("\tcode for sm_90\n\t\tFunction : f\n  /*0000*/\n  /*0010*/ MOV R1");
  REQUIRE(cut.size() == 1);
  CHECK(to_text(count_instructions(cut[0])) == "1 MOV\n");
}

TEST_CASE("counts are read back") {
  for (const KernelCode& kernel : read_code(kSass)) {
    const InstructionCounts counts = count_instructions(kernel);
    CHECK(read_counts(to_text(counts)) == counts);
  }
  CHECK(read_counts("").empty());
  CHECK(total(read_counts("12 FFMA\n3 @P FFMA\n")) == 15);
}

TEST_CASE("loads and stores are classified by width") {
  CHECK(classes_of("1 LDG.E\n2 LDG.E.128.CONSTANT\n3 LDG.E.U8\n4 LDG.E.S16.SYS\n"
                   "5 @P LDG.E.64.STRONG.GPU\n6 LDG.E.LTC128B.128\n") ==
        Names{"LDG.8 3", "LDG.16 4", "LDG.32 1", "LDG.64 5", "LDG.128 8", "predicated 5"});
  CHECK(classes_of("1 LDS.U.128\n1 STS.64\n1 STG.E.U16\n1 LDL.LU\n1 STL.128\n1 LD.E\n") ==
        Names{"STG.16 1", "LD.32 1", "LDL.32 1", "STL.128 1", "LDS.128 1", "STS.64 1"});
  CHECK(classes_of("1 LDGSTS.E.BYPASS.LTC128B.128\n1 LDGSTS.E\n1 LDGDEPBAR\n") ==
        Names{"LDGSTS.32 1", "LDGSTS.128 1", "LDGDEPBAR 1"});
}

TEST_CASE("multiplications and additions count as arithmetic") {
  CHECK(classes_of("1 FFMA\n1 @P FFMA\n1 FMUL.FTZ\n1 DFMA.RP\n") ==
        Names{"FFMA 2", "FMUL 1", "DFMA 1", "predicated 1"});
  CHECK(classes_of("1 IMAD\n1 IMAD.WIDE.U32\n1 IMAD.HI.U32\n1 IMAD.MOV.U32\n1 IMAD.X\n1 IMAD.U32\n"
                   "1 IMAD.SHL.U32\n1 IMAD.IADD\n") == Names{"IMAD 3", "IMAD.MOV 5"});
  CHECK(classes_of("1 HFMA2\n1 HFMA2.MMA (constant)\n1 HADD2.BF16_V2\n1 HADD2.F32\n"
                   "1 F2FP.BF16.F32.PACK_AB\n") == Names{"HFMA2 2", "conversion 2"});
  CHECK(classes_of("2 MUFU.EX2\n1 MUFU.RCP\n") == Names{"MUFU.EX2 2", "MUFU.RCP 1"});
}

TEST_CASE("tensor core products and tile copies keep shape and types") {
  CHECK(classes_of("4 HMMA.16816.F32.BF16\n2 IMMA.16832.S8.S8\n1 HGMMA.64x256x16.F32.BF16\n"
                   "1 UTMALDG.2D\n1 UBLKCP.S.G\n") ==
        Names{"UBLKCP.S.G 1", "UTMALDG.2D 1", "IMMA.16832.S8.S8 2", "HMMA.16816.F32.BF16 4",
              "HGMMA.64x256x16.F32.BF16 1"});
}

TEST_CASE("branches, predicates and selections are classified separately") {
  CHECK(classes_of("1 BSSY\n1 BSYNC.RECONVERGENT\n9 BRA\n2 @P BRA\n1 @UP BRA\n1 BRA.U\n"
                   "1 @P BRA.U.ANY\n1 BRX\n1 @P EXIT\n1 EXIT\n") ==
        Names{"BSSY 1", "BSYNC 1", "@P BRA 2", "@UP BRA 3", "BRX 1", "@P EXIT 1"});
  CHECK(classes_of("3 @P FADD\n1 @UP UIADD3\n1 FSEL\n1 SEL\n") ==
        Names{"FADD 3", "predicated 3", "SEL 2"});
}

TEST_CASE("atomics, barriers and exchanges have their kind") {
  CHECK(classes_of("1 ATOMG.E.ADD.STRONG.GPU\n1 REDG.E.ADD.F32.FTZ.RN.STRONG.GPU\n1 ATOMS.CAS\n"
                   "1 BAR.SYNC.DEFER_BLOCKING\n1 SHFL.BFLY\n1 SYNCS.PHASECHK.TRANS64.TRYWAIT\n"
                   "1 VOTEU.ANY\n1 UCGABAR_ARV\n1 UCGABAR_WAIT\n") ==
        Names{"SHFL.BFLY 1", "VOTE.ANY 1", "BAR.SYNC 1", "SYNCS.PHASECHK 1", "UCGABAR 2",
              "ATOMG.ADD 1", "RED.ADD 1", "ATOMS.CAS 1"});
}

TEST_CASE("a kernel's name is the one in its source") {
  CHECK(kernel_name("_ZN6gpuexp10divergence13branch_kernelEliPKfPKjPf") == "branch_kernel");
  CHECK(kernel_name("_ZN6gpuexp12vector_width11copy_kernelI6float2Li1EEEvPKfPfl") ==
        "copy_kernel<float2, 1>");
  CHECK(kernel_name("_ZN6gpuexp10coalescing11read_kernelINS0_8ReversedEEEvPKfPflT_") ==
        "read_kernel<coalescing::Reversed>");
  CHECK(kernel_name("_ZN6gpuexp15mixed_precision13packed_kernelIfLNS0_2OpE1EEEvPKvPvl") ==
        "packed_kernel<float, (mixed_precision::Op)1>");
  CHECK(kernel_name("_ZN12_GLOBAL__N_16kernelEv") == "kernel");
  CHECK(kernel_name("plain") == "plain");
}

}  // namespace
}  // namespace gpuexp::test
