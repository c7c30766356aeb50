import PushLoop
import Testing

@testable import PushTransport

@Suite struct WatchedConnectionsTests {
    private typealias Reading = WatchedConnections.Reading

    private let limits: ZMQConnectionLimits = {
        var limits = ZMQConnectionLimits(connections: 100, maxHeld: 10 << 20, maxHeldTogether: 25 << 20)
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
            connections.evaluate([megabytes(0, by: 7, gone: gone)], at: start + .seconds(seconds), isRead: isRead).stuck
        }
        #expect(stuck(true, after: 0) == 0 && stuck(true, after: 29) == 0 && stuck(true, after: 30) == 1)
        // Another connection has the number.
        #expect(connections.ended(7) && connections.opened(7) && stuck(true, after: 31) == 0)
        #expect(stuck(true, after: 60) == 0 && stuck(false, after: 60) == 0 && stuck(true, after: 61) == 0)
        // What it left cannot be read meanwhile.
        #expect(stuck(true, after: 89, isRead: false) == 0 && stuck(true, after: 95) == 0)
        #expect(stuck(true, after: 124) == 0 && stuck(true, after: 125) == 1)
        // Not one of this socket.
        #expect(connections.evaluate([megabytes(0, by: 8, gone: true)], at: start).stuck == 0)
    }

    /// What it has brought so far; `read` bytes of it came out of the socket since the last look.
    private func bring(
        _ bytes: Int, read: Int = 0, by descriptor: CInt = 7, _ connections: inout WatchedConnections
    ) -> [CInt] {
        if read > 0 { connections.countRead(read, from: descriptor) }
        let reading = Reading(descriptor: descriptor, peerIsGone: false, received: UInt64(bytes))
        return connections.evaluate([reading], at: start).hoarding
    }

    @Test func aMessageThatCameOutPaysForItself() {
        var connections = WatchedConnections(limits: limits)
        _ = connections.opened(7)
        #expect(bring(10 << 20, &connections).isEmpty && connections.unread > 9 << 20)
        #expect(bring(20 << 20, read: 20 << 20, &connections).isEmpty && connections.unread == 0)
        #expect(bring(30 << 20, &connections).isEmpty)
        // An endless one behind it does not become less by it.
        #expect(bring(41 << 20, read: 100, &connections).isEmpty && connections.unread > 20 << 20)
        #expect(bring(41 << 20, &connections) == [7] && connections.unread == 0)
        // Where the kernel does not count, nobody hoards.
        var silent = WatchedConnections(limits: limits)
        _ = silent.opened(7)
        let reading = Reading(descriptor: 7, peerIsGone: false, received: nil)
        #expect(silent.evaluate([reading], at: start).hoarding.isEmpty)
    }

    /// The first messages of a connection can be read before the news of it.
    @Test func whatWasReadBeforeItIsKnownCounts() {
        var connections = WatchedConnections(limits: limits)
        connections.countRead(20 << 20, from: 7)
        _ = connections.opened(7)
        #expect(bring(20 << 20, &connections).isEmpty && connections.unread == 0)
        // And it counts for that connection alone.
        connections.countRead(20 << 20, from: 7)
        #expect(connections.ended(7) && connections.opened(7))
        #expect(bring(11 << 20, &connections) == [7])
    }

    @Test func togetherTheyMayHoldLessThanEach() {
        var connections = WatchedConnections(limits: limits)
        let readings = [(1, 8), (2, 9), (3, 7), (4, 1)].map { megabytes($1, by: $0) }
        for reading in readings { _ = connections.opened(reading.descriptor) }
        #expect(connections.evaluate(Array(readings.dropLast()), at: start).hoarding.isEmpty)
        let more = readings + [megabytes(2, by: 5)]
        _ = connections.opened(5)
        #expect(connections.evaluate(more, at: start).hoarding == [2])
        #expect(limits.harmless == 6 << 20)
        #expect(connections.evaluate(more, at: start, isTight: true).hoarding == [1, 3])
        // Left unread, one may hold what all may.
        _ = connections.opened(1)
        #expect(connections.evaluate([megabytes(25, by: 1)], at: start, isRead: false).hoarding.isEmpty)
        #expect(connections.evaluate([megabytes(26, by: 1)], at: start, isRead: false).hoarding == [1])
    }

    /// None of them holds much.
    @Test(arguments: [false, true]) func manySmallHoardersAreFound(isTight: Bool) {
        var connections = WatchedConnections(limits: limits)
        for descriptor in CInt(1)...100 { _ = connections.opened(descriptor) }
        let readings = (CInt(1)...100).map {
            Reading(descriptor: $0, peerIsGone: false, received: UInt64(900_000 + Int($0)))
        }
        let ended = connections.evaluate(readings, at: start, isTight: isTight).hoarding
        // The worst first, and no more than it takes.
        #expect(ended == (1...100).reversed().prefix(ended.count).map { CInt($0) })
        let left = isTight ? limits.harmless : limits.maxHeldTogether
        #expect(left - 900_000 < connections.unread && connections.unread <= left)
        #expect(connections.evaluate(readings, at: start, isTight: isTight).hoarding.isEmpty)
    }

    /// A message in each of many connections, and an endless one behind it before the next look.
    @Test func anEndlessMessageBehindAnotherCounts() {
        var connections = WatchedConnections(limits: limits)
        var readings: [Reading] = []
        var ended: [CInt] = []
        for descriptor in CInt(1)...100 {
            _ = connections.opened(descriptor)
            connections.countRead(200, from: descriptor)
            readings.append(Reading(descriptor: descriptor, peerIsGone: false, received: 900_000))
            ended += connections.evaluate(readings, at: start).hoarding
            #expect(connections.unread <= limits.maxHeldTogether + 900_000)
        }
        #expect(ended.count > 60)
    }

    /// As many producers as libzmq goes round by, each of which sends as fast as it is read.
    @Test(arguments: [false, true]) func honestProducersMayBringWhatAllMayHold(isTight: Bool) {
        var connections = WatchedConnections(limits: limits)
        let size = 20 << 10
        for descriptor in CInt(1)...100 { _ = connections.opened(descriptor) }
        func look(sent: Int) -> WatchedConnections.Findings {
            let received = UInt64(size * sent + 500)
            let readings = (CInt(1)...100).map { Reading(descriptor: $0, peerIsGone: false, received: received) }
            return connections.evaluate(readings, at: start, isTight: isTight)
        }
        for round in 1...100 {
            for _ in 0..<10 { for descriptor in CInt(1)...100 { connections.countRead(size, from: descriptor) } }
            // Ten more messages of each are on their way: more than is harmless, and less than all may hold.
            #expect(look(sent: 10 * round + 10).hoarding.isEmpty)
            #expect(connections.unread > 3 * limits.harmless)
        }
        for _ in 0..<10 { for descriptor in CInt(1)...100 { connections.countRead(size, from: descriptor) } }
        #expect(look(sent: 1010).hoarding.isEmpty && connections.unread == 0)
        // They say no more, and hold nothing.
        #expect(look(sent: 1010).hoarding.isEmpty)
    }

    /// Messages that come out do not excuse those that wait: together they hold no more than all may.
    @Test(arguments: [false, true]) func messagesThatComeOutCountForTheTotal(isTight: Bool) {
        var connections = WatchedConnections(limits: limits)
        for descriptor in CInt(1)...4 { _ = connections.opened(descriptor) }
        func look(_ megabytes: [UInt64]) -> [CInt] {
            for descriptor in CInt(1)...4 { connections.countRead(1 << 20, from: descriptor) }
            let readings = megabytes.enumerated().map { self.megabytes($1, by: CInt($0 + 1)) }
            return connections.evaluate(readings, at: start, isTight: isTight).hoarding
        }
        // One alone may have more on its way than a silent one.
        #expect(look([18, 2, 2, 2]).isEmpty)
        #expect(look([24, 9, 3, 3]) == [1])
        #expect(connections.unread <= limits.maxHeldTogether)
        // A silent one is ended by its own limit all the same.
        connections.countRead(1 << 20, from: 2)
        #expect(connections.evaluate([megabytes(9, by: 2), megabytes(16, by: 3)], at: start).hoarding == [3])
    }

    /// A client that only beats is not to be cut when memory runs out.
    @Test func heartbeatsAreNoHoard() {
        var connections = WatchedConnections(limits: limits)
        for descriptor in CInt(1)...100 { _ = connections.opened(descriptor) }
        func look(_ bytes: Int, isTight: Bool) -> [CInt] {
            let readings = (CInt(1)...100).map {
                Reading(descriptor: $0, peerIsGone: false, received: UInt64(bytes))
            }
            return connections.evaluate(readings, at: start, isTight: isTight).hoarding
        }
        for beat in 1...4000 { #expect(look(500 + 42 * beat, isTight: true).isEmpty) }
        #expect(connections.unread == 0)
        // Not even they may hold without bounds.
        for beat in 4001...7000 where !look(500 + 42 * beat, isTight: false).isEmpty { return }
        Issue.record("a hundred connections hold \(42 * 7000) bytes each")
    }

    /// libzmq may not find its end for as long as it does not read from it.
    @Test func whoWasHungUpOnIsFoundOnce() {
        var connections = WatchedConnections(limits: limits)
        for descriptor in [7, 8] as [CInt] { _ = connections.opened(descriptor) }
        let readings = [megabytes(30, by: 7), megabytes(20, by: 8)]
        #expect(connections.evaluate(readings, at: start, isRead: false).hoarding == [7])
        #expect(connections.evaluate(readings, at: start, isRead: false).hoarding.isEmpty)
        #expect(connections.unread > 19 << 20 && connections.unread <= 20 << 20)
        // Another has the number.
        #expect(connections.ended(7) && connections.opened(7))
        #expect(connections.evaluate(readings, at: start, isRead: false).hoarding == [7])
    }

    // MARK: Memory

    @Test func onlyGrowthThatConnectionsCanAccountForCounts() {
        var calm = MemoryGrowthDetector(growth: 192 << 20)
        func isExceeded(by memory: Int, unread: Int) -> Bool {
            calm.isExceeded(by: memory << 20, unread: unread << 20)
        }
        #expect(!isExceeded(by: 50, unread: 0))
        // As much as it likes, while connections hold little.
        #expect(!isExceeded(by: 500, unread: 6))
        #expect(!isExceeded(by: 600, unread: 7))
        #expect(!isExceeded(by: 692, unread: 7))
        #expect(isExceeded(by: 693, unread: 7))
        // A frame takes no more than so much of it.
        #expect(isExceeded(by: 720, unread: 7))
        #expect(isExceeded(by: 800, unread: 7))
        #expect(!isExceeded(by: 800, unread: 1))
        // What else the process has grown by raises the mark, for good.
        #expect(isExceeded(by: 1100, unread: 7))
        #expect(!isExceeded(by: 1060, unread: 7))
        let isExceededByAll = calm.isExceeded(by: .max, unread: .max)
        #expect(isExceededByAll)
        var unbounded = MemoryGrowthDetector(growth: .max)
        #expect(!unbounded.isExceeded(by: 1, unread: 0) && !unbounded.isExceeded(by: .max, unread: .max))
    }
}
