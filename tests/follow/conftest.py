# SPDX-License-Identifier: MPL-2.0
import sys

sys.dont_write_bytecode = True
