/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_COPY_METHODS_H
#define ZCSI_NODE_COPY_METHODS_H

/*
 * The rows of zcsi.v1.Copy, which operators call, and of zcsi.v1.Replica and zcsi.v1.Backup, for
 * node/service.h.
 */

#define COPY_METHODS(INLINE, PLAIN, KEYED, STREAM)                                                 \
	STREAM(Send, copy_send)                                                                    \
	PLAIN(EstimateSend, estimate_send, LANE_COPY)                                              \
	STREAM(ReceiveVolume, copy_receive_volume)                                                 \
	PLAIN(ListReceived, list_received, LANE_LOOKUP)                                            \
	KEYED(AddMember, add_member, id, LANE_COPY)                                                \
	KEYED(RemoveMember, remove_member, id, LANE_COPY)                                          \
	INLINE(Push, push_now)                                                                     \
	KEYED(Pause, pause_pushes, id, LANE_COPY)                                                  \
	KEYED(Resume, resume_pushes, id, LANE_COPY)                                                \
	INLINE(ListPushes, list_pushes)                                                            \
	KEYED(StartMove, start_move, id, LANE_COPY)                                                \
	PLAIN(CancelMove, cancel_move, LANE_COPY)                                                  \
	INLINE(ListMoves, list_moves)                                                              \
	PLAIN(ListCopies, list_copies, LANE_LOOKUP)                                                \
	KEYED(Failover, failover, id, LANE_CHANGE)                                                 \
	KEYED(Confirm, confirm_volume, id, LANE_COPY)                                              \
	PLAIN(ListDiverged, list_diverged, LANE_LOOKUP)                                            \
	STREAM(DiffDiverged, diff_diverged)                                                        \
	PLAIN(DropDiverged, drop_diverged, LANE_COPY)                                              \
	INLINE(RunBackup, run_backup)                                                              \
	INLINE(VerifyBackup, verify_backup)                                                        \
	INLINE(RestoreBackup, restore_backup)                                                      \
	INLINE(GetBackupTask, get_backup_task)                                                     \
	PLAIN(ListBackups, list_backups, LANE_LOOKUP)                                              \
	PLAIN(DropBackup, drop_backup, LANE_COPY)                                                  \
	KEYED(ForgetBackup, forget_backup, id, LANE_COPY)

#define REPLICA_METHODS(INLINE, PLAIN, KEYED, STREAM)                                              \
	STREAM(Receive, copy_receive)                                                              \
	KEYED(GetCopy, get_copy, id, LANE_COPY)                                                    \
	KEYED(DropCopy, drop_copy, id, LANE_COPY)                                                  \
	KEYED(ThinCopy, thin_copy, id, LANE_COPY)                                                  \
	KEYED(DescribeCopy, describe_copy, id, LANE_COPY)                                          \
	PLAIN(GetMove, get_move, LANE_LOOKUP)                                                      \
	KEYED(Promote, promote, id, LANE_COPY)                                                     \
	PLAIN(Hear, hear, LANE_LOOKUP)                                                             \
	KEYED(Accept, accept_owner, id, LANE_COPY)                                                 \
	PLAIN(FindBase, find_base, LANE_LOOKUP)

#define BACKUP_METHODS(INLINE, PLAIN, KEYED, STREAM)                                               \
	KEYED(BeginBackup, begin_backup, id, LANE_COPY)                                            \
	STREAM(ReadBackup, read_backup)                                                            \
	KEYED(EndBackup, end_backup, id, LANE_COPY)

#endif
