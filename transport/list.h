/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_LIST_H
#define ZCSI_LIST_H

/*
 * Intrusive linked lists with removal in constant time. A member has two fields: "next", and
 * "link", the address of the pointer that points to the member (the head, or another "next").
 */

#include <stdbool.h>

/* Insert member at the head of the list. */
#define list_push(head, member)                                                                    \
	do {                                                                                       \
		(member)->link = &(head);                                                          \
		(member)->next = (head);                                                           \
		if (head)                                                                          \
			(head)->link = &(member)->next;                                            \
		(head) = (member);                                                                 \
	} while (false)

/* Unlink member from its list. The member's own two fields are left as they are. */
#define list_remove(member)                                                                        \
	do {                                                                                       \
		*(member)->link = (member)->next;                                                  \
		if ((member)->next)                                                                \
			(member)->next->link = (member)->link;                                     \
	} while (false)

#endif
