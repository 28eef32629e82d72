/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_TEST_CMOCKA_H
#define ZCSI_TEST_CMOCKA_H

/* cmocka after the headers that it wants, and without its fail(): ours is in common/error.h. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#undef fail

#endif
