# SPDX-License-Identifier: MPL-2.0
"""A server of Identity/Probe on Debian's python3-grpcio. The argument is its address."""
import sys
from concurrent import futures

import grpc

READY = b"\x0a\x02\x08\x01"

server = grpc.server(futures.ThreadPoolExecutor(4))
server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(
    "csi.v1.Identity",
    {"Probe": grpc.unary_unary_rpc_method_handler(lambda request, context: READY)})])
server.add_insecure_port(sys.argv[1])
server.start()
server.wait_for_termination()
