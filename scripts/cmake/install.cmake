# The relocatable tree that `cmake --install` and cpack create; it is independent of this folder.
#
#   bin/gpuexp
#   share/gpuexp/configs   found relative to the program: src/cli/app.cpp
#   share/gpuexp/scripts   quickstart.sh, bench_pytorch.py, and scripts that draw and compare results
#   share/gpuexp/docs      pages, figures and recorded results, in folders that keep links between them valid

include(GNUInstallDirs)

set(_gpuexp_share "${CMAKE_INSTALL_DATADIR}/gpuexp")
install(TARGETS gpuexp)
install(DIRECTORY configs docs DESTINATION "${_gpuexp_share}")
install(FILES README.md DESTINATION "${_gpuexp_share}")
install(PROGRAMS scripts/quickstart.sh scripts/plot.py scripts/compare_gpus.py scripts/prediction_errors.py
                 scripts/bench_pytorch.py
        DESTINATION "${_gpuexp_share}/scripts")
install(PROGRAMS scripts/slurm/ranks.sbatch scripts/slurm/shards.sbatch DESTINATION "${_gpuexp_share}/scripts/slurm")
install(FILES scripts/setup.sh DESTINATION "${_gpuexp_share}/scripts")
install(DIRECTORY scripts/plotting scripts/pytorch DESTINATION "${_gpuexp_share}/scripts" PATTERN __pycache__ EXCLUDE)

set(CPACK_GENERATOR DEB TGZ)
string(TOLOWER "${CMAKE_SYSTEM_NAME}" _gpuexp_system)
set(CPACK_PACKAGE_FILE_NAME "gpuexp-${PROJECT_VERSION}-${_gpuexp_system}-${CMAKE_SYSTEM_PROCESSOR}")
set(CPACK_PACKAGE_NAME gpuexp)
set(CPACK_PACKAGE_VENDOR "the maintainers of gpuexp")
set(CPACK_PACKAGE_CONTACT "The maintainers of gpuexp <maintainers@gpuexp.invalid>" CACHE STRING
  "Maintainer named in packages")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGE_DESCRIPTION
"One program launches every variant of a CUDA kernel, verifies each result,
times it, reads hardware counters, and reports each time with a lower bound
and a predicted time. Without a GPU it executes the kernels' machine code on
the CPU and predicts their times.")
set(CPACK_STRIP_FILES ON)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# Packages for the plots. cuBLAS and CUPTI, which are loaded if the CUDA Toolkit is installed, are not listed, because the names of
# NVIDIA's packages contain a version.
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "python3, python3-pandas, python3-matplotlib, python3-zstandard")
include(CPack)
