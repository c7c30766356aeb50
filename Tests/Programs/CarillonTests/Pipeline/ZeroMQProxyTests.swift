import TestTraits
import Testing

/// Tests of requests through proxies of libzmq, and from REQ sockets that number their requests.
@Suite(.waits) struct ZeroMQProxyTests {
    @Test func `Intake answers clients behind proxies, and sockets that number their requests`() async throws {
        try await PythonScene.run("zeromq_proxies", "intake")
    }

    @Test func `A socket that numbers its requests gets the answer to its last one`() async throws {
        try await PythonScene.run("zeromq_proxies", "renewed_request")
    }

    @Test func `Several monitors behind one proxy get their replays at the same time`() async throws {
        try await PythonScene.run("zeromq_proxies", "replay")
    }
}
