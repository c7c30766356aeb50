import Glibc
import Testing

@testable import PushLoop

/// Two connected nonblocking descriptors.
final class SocketPair: Sendable {
    let left: CInt
    let right: CInt

    init() {
        var descriptors: [CInt] = [-1, -1]
        let kind = CInt(SOCK_STREAM.rawValue) | CInt(SOCK_NONBLOCK.rawValue) | CInt(SOCK_CLOEXEC.rawValue)
        #expect(socketpair(AF_UNIX, kind, 0, &descriptors) == 0)
        (left, right) = (descriptors[0], descriptors[1])
    }

    deinit {
        close(left)
        close(right)
    }

    func send(_ text: String) {
        let bytes = Array(text.utf8)
        #expect(write(right, bytes, bytes.count) == bytes.count)
    }

    func receive() -> String {
        var bytes = [UInt8](repeating: 0, count: 1024)
        let count = read(left, &bytes, bytes.count)
        return String(decoding: bytes[..<max(0, count)], as: UTF8.self)
    }

    /// Writes until the system accepts no more.
    func fill() {
        let bytes = [UInt8](repeating: 0, count: 65_536)
        while write(left, bytes, bytes.count) > 0 {}
    }

    func drainRight() {
        var bytes = [UInt8](repeating: 0, count: 65_536)
        while read(right, &bytes, bytes.count) > 0 {}
    }
}

@Suite struct WatchTests {
    private let loop = EventLoop(name: "watch")
    private let pair = SocketPair()

    @Test("A readable event fires while there is data to read") func readableFiresWhileThereIsSomethingToRead() async {
        let seen = Recorder<String>()
        let watch = await withCheckedContinuation { continuation in
            loop.execute { [loop, pair] in
                var reads = 0
                var bound: LoopBound<Watch>?
                let watch = Watch(pair.left, on: loop) { readiness in
                    #expect(readiness == .readable)
                    reads += 1
                    // Level-triggered: the data was not read the first time, so the event fires again.
                    if reads == 1 { return }
                    seen.add(pair.receive())
                    if reads == 2 { pair.send("again") } else { continuation.resume(returning: bound!) }
                }
                bound = LoopBound(watch, on: loop)
                watch.interest = .readable
                pair.send("hello")
            }
        }
        #expect(seen.values == ["hello", "again"])
        await watch.with { $0.cancel() }
        await watch.with { $0.cancel() }
        await loop.shutDown()
    }

    @Test("A writable event fires when there is room again") func writableFiresWhenThereIsRoomAgain() async {
        pair.fill()
        let seen = Recorder<String>()
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            loop.execute { [loop, pair] in
                var watch: Watch?
                watch = Watch(pair.left, on: loop) { readiness in
                    #expect(readiness == .writable)
                    seen.add("writable")
                    watch?.cancel()
                    watch = nil
                    continuation.resume()
                }
                watch?.interest = .writable
                loop.schedule(after: .milliseconds(5)) {
                    seen.add("drained")
                    pair.drainRight()
                }
            }
        }
        #expect(seen.values == ["drained", "writable"])
        await loop.shutDown()
    }

    @Test("Events without interest are not delivered") func lostInterestIsNotServed() async {
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            loop.execute { [loop, pair] in
                let watch = Watch(pair.left, on: loop) { _ in Issue.record("no interest in this event") }
                watch.interest = [.readable, .writable]
                watch.interest = []
                pair.send("ignored")
                loop.schedule(after: .milliseconds(5)) {
                    watch.cancel()
                    continuation.resume()
                }
            }
        }
        await loop.shutDown()
    }

    @Test("A watch may cancel itself in its handler") func watchMayCancelItselfInItsHandler() async {
        let seen = Recorder<Watch.Readiness>()
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            loop.execute { [loop, pair] in
                var watch: Watch? = Watch(pair.left, on: loop) { _ in }
                watch?.cancel()
                watch = Watch(pair.left, on: loop) { readiness in
                    seen.add(readiness)
                    watch?.cancel()
                    watch = nil
                    // Both events were ready and the data was not read, but neither fires again.
                    loop.schedule(after: .milliseconds(5)) { continuation.resume() }
                }
                watch?.interest = [.readable, .writable]
                pair.send("once")
            }
        }
        #expect(seen.values.count == 1)
        await loop.shutDown()
    }

    @Test("A watch cancelled by another one of the same tick does not fire")
    func watchCancelledByAnotherOfTheSameTickDoesNotFire() async {
        let other = SocketPair()
        let seen = Recorder<String>()
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            loop.execute { [loop, pair] in
                var watches: [Watch] = []
                func handler(_ name: String) -> (Watch.Readiness) -> Void {
                    { _ in
                        seen.add(name)
                        for watch in watches { watch.cancel() }
                        watches = []
                        loop.schedule(after: .milliseconds(5)) { continuation.resume() }
                    }
                }
                watches = [
                    Watch(pair.left, on: loop, handler: handler("one")),
                    Watch(other.left, on: loop, handler: handler("two")),
                ]
                // Both are ready before the loop checks its descriptors.
                pair.send("x")
                other.send("x")
                for watch in watches { watch.interest = .readable }
            }
        }
        #expect(seen.values.count == 1)
        await loop.shutDown()
    }

    @Test("A cancelled watch releases its handler") func cancelledWatchLetsGoOfItsHandler() async {
        final class Owner {
            var watch: Watch?
        }
        await loop.run { [loop, pair] in
            weak var owner: Owner?
            do {
                let strong = Owner()
                owner = strong
                strong.watch = Watch(pair.left, on: loop) { _ in _ = strong }
            }
            #expect(owner != nil)
            owner?.watch?.cancel()
            #expect(owner == nil)
        }
        await loop.shutDown()
    }

    /// A deadline that a handler sets must count from the current time, not from the end of the last tick.
    @Test("A handler sees the time of its tick") func timeInAHandlerIsThatOfItsTick() async {
        let sent = Recorder<MonotonicTime>()
        let seen: MonotonicTime = await withCheckedContinuation { continuation in
            loop.execute { [loop, pair] in
                var watch: Watch?
                watch = Watch(pair.left, on: loop) { _ in
                    let time = loop.now
                    #expect(time == loop.now, "one tick has one time")
                    watch?.cancel()
                    watch = nil
                    continuation.resume(returning: time)
                }
                watch?.interest = .readable
            }
            loop.execute { [pair] in
                sent.add(.current())
                pair.send("x")
            }
        }
        #expect(seen >= sent.values[0])
        await loop.shutDown()
    }
}
