# SPDX-License-Identifier: GPL-2.0-or-later
# Run when a unit test program has been linked: writes CTest tests, one for each of its GoogleTest suites.
# PROGRAM, FOLDER to run it in, PREFIX of the tests' names, EXCEPT (names without the prefix, as a filter has them), RESULTS: a folder,
# FILE to write.
execute_process(COMMAND ${PROGRAM} --gtest_list_tests "--gtest_filter=-${EXCEPT}" OUTPUT_VARIABLE listed RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} does not list its tests: ${status}")
endif()
# A suite's name begins its line, and ends in a dot that its type may follow.
string(REGEX MATCHALL "\n[^ \n]+\\." suites "\n${listed}")
set(text)
foreach(line IN LISTS suites)
  string(REGEX REPLACE "^\n(.*)\\.$" "\\1" suite "${line}")
  string(REPLACE "/" "-" file "${PREFIX}${suite}.xml")
  string(APPEND text "add_test([=[${PREFIX}${suite}]=] [=[${PROGRAM}]=] \"--gtest_filter=${suite}.*-${EXCEPT}\""
         " [=[--gtest_output=xml:${RESULTS}/${file}]=])\n"
         "set_tests_properties([=[${PREFIX}${suite}]=] PROPERTIES WORKING_DIRECTORY [=[${FOLDER}]=] LABELS unit)\n")
endforeach()
file(WRITE ${FILE} "${text}")
