/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_LIST_H
#define ZCSI_LIST_H

/*
 * Lists whose members know their place, so that each can leave by itself: a member has "next", and
 * "link" for the pointer that points to it, be it the head or another's next.
 */

#include <stdbool.h>

#define list_push(head, member)                                                                    \
	do {                                                                                       \
		(member)->link = &(head);                                                          \
		(member)->next = (head);                                                           \
		if (head)                                                                          \
			(head)->link = &(member)->next;                                            \
		(head) = (member);                                                                 \
	} while (false)

#define list_remove(member)                                                                        \
	do {                                                                                       \
		*(member)->link = (member)->next;                                                  \
		if ((member)->next)                                                                \
			(member)->next->link = (member)->link;                                     \
	} while (false)

#endif
