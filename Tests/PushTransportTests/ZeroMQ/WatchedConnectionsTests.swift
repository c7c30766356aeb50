import PushLoop
import Testing

@testable import PushTransport

@Suite struct WatchedConnectionsTests {
    private typealias Reading = WatchedConnections.Reading

    private let limits: ZMQDoorLimits = {
        var limits = ZMQDoorLimits(connections: 100, hoard: 10 << 20, hoardTogether: 25 << 20)
        limits.patience = .seconds(30)
        return limits
    }()
    private let start = MonotonicTime(nanoseconds: 1_000_000_000)

    private func megabytes(_ count: UInt64, by descriptor: CInt, gone: Bool = false) -> Reading {
        Reading(descriptor: descriptor, peerIsGone: gone, received: count << 20)
    }

    @Test func eachConnectionCountsOnce() {
        var connections = WatchedConnections(limits: limits)
        #expect(connections.opened(7) && !connections.opened(7) && connections.opened(8))
        #expect(connections.ended(7) && !connections.ended(7) && connections.descriptors == [8])
        #expect(connections.opened(9) && connections.endedAll() == 2 && connections.endedAll() == 0)
    }

    @Test func aPeerThatIsGoneHasTime() {
        var connections = WatchedConnections(limits: limits)
        _ = connections.opened(7)
        func stuck(_ gone: Bool, after seconds: Int, isRead: Bool = true) -> Int {
            connections.look([megabytes(0, by: 7, gone: gone)], at: start + .seconds(seconds), isRead: isRead).stuck
        }
        #expect(stuck(true, after: 0) == 0 && stuck(true, after: 29) == 0 && stuck(true, after: 30) == 1)
        // Another connection has the number.
        #expect(connections.ended(7) && connections.opened(7) && stuck(true, after: 31) == 0)
        #expect(stuck(true, after: 60) == 0 && stuck(false, after: 60) == 0 && stuck(true, after: 61) == 0)
        // What it left cannot be read meanwhile.
        #expect(stuck(true, after: 89, isRead: false) == 0 && stuck(true, after: 95) == 0)
        #expect(stuck(true, after: 124) == 0 && stuck(true, after: 125) == 1)
        // Not one of this socket.
        #expect(connections.look([megabytes(0, by: 8, gone: true)], at: start).stuck == 0)
    }

    @Test func aMessageThatCameOutProvesWhatCameBefore() {
        var connections = WatchedConnections(limits: limits)
        _ = connections.opened(7)
        #expect(connections.look([megabytes(10, by: 7)], at: start).hoarding.isEmpty)
        #expect(connections.look([megabytes(11, by: 7)], at: start).hoarding == [7])
        connections.spoke(7)
        #expect(connections.look([megabytes(20, by: 7)], at: start).hoarding.isEmpty && !connections.isHoarding)
        #expect(connections.look([megabytes(30, by: 7)], at: start).hoarding.isEmpty && connections.isHoarding)
        #expect(connections.look([megabytes(31, by: 7)], at: start).hoarding == [7])
        // Where the kernel does not count, nobody hoards.
        let silent = Reading(descriptor: 7, peerIsGone: false, received: nil)
        #expect(connections.look([silent], at: start).hoarding.isEmpty)
    }

    @Test func togetherTheyMayHoldLessThanEach() {
        var connections = WatchedConnections(limits: limits)
        let readings = [(1, 8), (2, 9), (3, 7), (4, 1)].map { megabytes($1, by: $0) }
        for reading in readings { _ = connections.opened(reading.descriptor) }
        #expect(connections.look(Array(readings.dropLast()), at: start).hoarding.isEmpty)
        let more = readings + [megabytes(2, by: 5)]
        _ = connections.opened(5)
        #expect(connections.look(more, at: start).hoarding == [2])
        #expect(connections.look(more, at: start, isTight: true).hoarding == [2, 1, 3, 5])
        // Left unread, one may hold what all may.
        #expect(connections.look([megabytes(25, by: 1)], at: start, isRead: false).hoarding.isEmpty)
        #expect(connections.look([megabytes(26, by: 1)], at: start, isRead: false).hoarding == [1])
    }
}
