import PushLoop
import Testing

@testable import PushTransport

@Suite struct ZMQMonitorEventTests {
    private static func event(_ bytes: [UInt8]) -> ZMQMonitorEvent? {
        bytes.withUnsafeBytes { ZMQMonitorEvent($0, endpoint: "tcp://x") }
    }

    @Test(
        arguments: [
            (1, 9, ZMQMonitorEvent.Kind.connected), (2, 115, .connectDelayed(SystemError(number: 115))),
            (4, 183, .connectRetried(after: .milliseconds(183))), (8, 9, .listening),
            (16, 98, .bindFailed(SystemError(number: 98))), (32, 9, .accepted),
            (64, 24, .acceptFailed(SystemError(number: 24))), (128, 9, .closed),
            (256, 9, .closeFailed(SystemError(number: 9))), (512, 9, .disconnected), (1024, 0, .stopped),
            (2048, 32, .handshakeFailedNoDetail(SystemError(number: 32))), (4096, 0, .handshakeSucceeded),
            (8192, 0x1100_0002, .handshakeFailedProtocol(code: 0x1100_0002)),
            (16384, 400, .handshakeFailedAuthentication(status: 400)),
            (32768, 7, .unknown(event: 32768, value: 7)), (0, .max, .unknown(event: 0, value: .max)),
            (3, 1, .unknown(event: 3, value: 1)),
        ] as [(UInt16, UInt32, ZMQMonitorEvent.Kind)])
    func kinds(event: UInt16, value: UInt32, kind: ZMQMonitorEvent.Kind) {
        let bytes = withUnsafeBytes(of: event) { Array($0) } + withUnsafeBytes(of: value) { Array($0) }
        let read = Self.event(bytes)
        #expect(read?.kind == kind && read?.endpoint == "tcp://x")
        // A connection that begins or ends is known by its descriptor.
        #expect(read?.descriptor == (event == 32 || event == 512 ? 9 : nil))
    }

    @Test func everyEventNumberWithEveryKindOfValue() {
        for event in UInt16.min ... .max {
            for value in [0, 1, 0x7fff_ffff, 0x8000_0000, .max] as [UInt32] {
                _ = ZMQMonitorEvent.kind(event: event, value: value)
            }
        }
    }

    @Test(arguments: [0, 1, 5, 7, 100])
    func wrongSize(count: Int) {
        #expect(Self.event([UInt8](repeating: 1, count: count)) == nil)
    }
}
