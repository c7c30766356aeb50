import Synchronization
import TestSupport
import Testing

@testable import PushLoop
@testable import PushThread

/// An actor whose executor is a loop.
actor Pinned {
    let loop: EventLoop
    private(set) var count = 0

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    init(_ loop: EventLoop) {
        self.loop = loop
    }

    func countUp() -> Bool {
        count += 1
        return loop.isOnLoop
    }

    /// Counts up in a child task, which stays on the loop like the actor.
    func countUpInTask() async -> Bool {
        await Task { countUp() }.value
    }

    /// Calls another actor and returns to its own loop.
    func callAway(_ other: Pinned) async -> Bool {
        let wasThere = await other.countUp()
        return wasThere && loop.isOnLoop
    }
}

@Suite struct EventLoopTests {
    @Test("Jobs run in order on one thread") func jobsRunInTheOrderOfOneThread() async {
        let loop = EventLoop(name: "order")
        let seen = Recorder<Int>()
        for number in 0..<10_000 {
            loop.execute { seen.add(number) }
        }
        await loop.run {}
        #expect(seen.values == Array(0..<10_000))
        await loop.shutDown()
    }

    /// A turn that is over as soon as it begins has one job or one descriptor in it.
    @Test("Jobs and descriptors that take long have turns") func jobsAndDescriptorsThatTakeLongHaveTurns() async {
        let loop = EventLoop(name: "turns", turnTime: .zero)
        let pairs = (0..<5).map { _ in SocketPair() }
        for pair in pairs { pair.send("ready") }
        let jobs = Recorder<UInt64>()
        let handlers = Recorder<UInt64>()
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            loop.execute {
                for _ in 0..<20 { loop.execute { jobs.add(loop.tickCount) } }
                for pair in pairs {
                    var watch: Watch?
                    watch = Watch(pair.left, on: loop) { _ in
                        handlers.add(loop.tickCount)
                        watch?.cancel()
                        watch = nil
                        if handlers.values.count == pairs.count { continuation.resume() }
                    }
                    watch?.interest = .readable
                }
            }
        }
        await loop.run {}
        #expect(Set(jobs.values).count == 20 && jobs.values == jobs.values.sorted())
        #expect(Set(handlers.values).count == pairs.count)
        // Neither waits for the other to have none left.
        #expect(handlers.values.min() ?? .max < jobs.values.max() ?? 0)
        await loop.shutDown()
    }

    @Test("Work enqueued on the loop runs after the current work")
    func workEnqueuedOnTheLoopRunsAfterTheWorkThatEnqueuedIt() async {
        let loop = EventLoop(name: "nested")
        let seen = Recorder<String>()
        await loop.run {
            loop.execute { seen.add("inner") }
            seen.add("outer")
        }
        await loop.run {}
        #expect(seen.values == ["outer", "inner"])
        await loop.shutDown()
    }

    /// The last call of an actor on a loop may end the loop and its owner before the calling thread returns from
    /// enqueuing it.
    @Test("A loop may be freed before the call that enqueued its last job returns")
    func aLoopMayGoBeforeWhoCalledItIsBack() async {
        await withTaskGroup(of: Int.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    var count = 0
                    for _ in 0..<500 {
                        let pinned = Pinned(EventLoop(name: "short"))
                        _ = await pinned.countUp()
                        count += await pinned.count
                        await pinned.loop.shutDown()
                    }
                    return count
                }
            }
            #expect(await group.reduce(0, +) == 4000)
        }
    }

    @Test("An actor is pinned to its loop") func actorIsPinnedToItsLoop() async {
        let (first, second) = (EventLoop(name: "pin-1"), EventLoop(name: "pin-2"))
        let (one, two) = (Pinned(first), Pinned(second))
        #expect(!first.isOnLoop)
        for _ in 0..<100 {
            #expect(await one.countUp())
            #expect(await one.countUpInTask())
            #expect(await one.callAway(two))
        }
        #expect(await one.count == 200)
        #expect(await two.count == 100)
        await first.shutDown()
        await second.shutDown()
    }

    @Test("An actor on one loop serializes the calls of many tasks")
    func actorOnOneLoopSerializesCallersOfManyTasks() async {
        let loop = EventLoop(name: "serial")
        let actor = Pinned(loop)
        await withTaskGroup { group in
            for _ in 0..<50 {
                group.addTask {
                    for _ in 0..<200 { _ = await actor.countUp() }
                }
            }
        }
        #expect(await actor.count == 10_000)
        await loop.shutDown()
    }

    @Test("assumeIsolated works in a raw callback") func assumeIsolatedWorksFromARawCallback() async {
        let loop = EventLoop(name: "raw")
        let actor = Pinned(loop)
        await loop.run {
            #expect(loop.isIsolatingCurrentContext() == true)
            #expect(actor.assumeIsolated { $0.countUp() })
        }
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            loop.execute {
                loop.schedule(after: .zero) {
                    #expect(actor.assumeIsolated { $0.countUp() })
                    continuation.resume()
                }
            }
        }
        #expect(await actor.count == 2)
        #expect(loop.isIsolatingCurrentContext() == false)
        await loop.shutDown()
    }

    @Test("assumeIsolated on another loop ends the process") func assumeIsolatedElsewhereEndsTheProcess() async {
        await #expect(processExitsWith: .failure) {
            let (loop, other) = (EventLoop(name: "here"), EventLoop(name: "there"))
            let actor = Pinned(loop)
            await other.run { actor.assumeIsolated { _ = $0.countUp() } }
        }
    }

    @Test("A burst of jobs costs few ticks") func burstCostsFewTicks() async {
        let loop = EventLoop(name: "burst")
        let gate = Monitor(false)
        let before = await loop.run { loop.tickCount }
        loop.execute { gate.wait { $0 ? () : nil } }
        let ran = Atomic(0)
        for _ in 0..<20_000 {
            loop.execute { ran.wrappingAdd(1, ordering: .relaxed) }
        }
        gate.withLock { $0 = true }
        gate.wakeAll()
        let after = await loop.run { loop.tickCount }
        #expect(ran.load(ordering: .relaxed) == 20_000)
        // Two wake-ups, and one check of the descriptors per 4096 jobs. Without batching it would be 20,000.
        #expect(after - before <= 12)
        await loop.shutDown()
    }

    @Test("run returns values and typed errors") func runBringsBackValuesAndTypedErrors() async {
        struct Refusal: Error, Equatable {
            let number: Int
        }
        let loop = EventLoop(name: "run")
        #expect(await loop.run { 42 } == 42)
        do throws(Refusal) {
            try await loop.run { () throws(Refusal) in throw Refusal(number: 7) }
            Issue.record("nothing was thrown")
        } catch {
            #expect(error == Refusal(number: 7))
        }
        await loop.shutDown()
    }

    @Test("Shutdown runs all queued jobs") func shutDownRunsWhatIsQueued() async {
        let loop = EventLoop(name: "drain")
        let ran = Atomic(0)
        for _ in 0..<1000 {
            loop.execute {
                ran.wrappingAdd(1, ordering: .relaxed)
                loop.execute { ran.wrappingAdd(1, ordering: .relaxed) }
            }
        }
        await loop.shutDown()
        #expect(ran.load(ordering: .relaxed) == 2000)
        #expect(!loop.isOnLoop)
    }

    @Test("Enqueuing on a stopped loop ends the process") func enqueuingOnAStoppedLoopEndsTheProcess() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let loop = EventLoop(name: "gone")
            await loop.shutDown()
            loop.execute {}
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(text.contains("event loop gone has stopped"))
    }

    @Test("A stopped loop is freed") func loopLeavesNoThreadAndNoDescriptorBehind() async throws {
        // Run one loop first: the runtime opens some things on first use.
        await EventLoop(name: "first").shutDown()
        for _ in 0..<50 {
            weak var loop: EventLoop?
            do {
                let short = EventLoop(name: "short")
                loop = short
                await short.run {}
                await short.shutDown()
            }
            // The thread releases the loop a moment after it has reported the stop.
            await wait(while: loop != nil)
        }
    }

    @Test("A flusher is called once at the end of the tick") func flusherIsCalledOnceAtTheEndOfTheTick() async {
        final class Flusher: TickEndFlushing {
            let seen: Recorder<String>
            init(_ seen: Recorder<String>) {
                self.seen = seen
            }
            func flushAtTickEnd() {
                seen.add("flush")
            }
        }
        let loop = EventLoop(name: "flush")
        let seen = Recorder<String>()
        await loop.run {
            loop.flushAtTickEnd(Flusher(seen))
            loop.execute { seen.add("job of the same tick") }
        }
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            loop.execute { loop.schedule(after: .zero) { continuation.resume() } }
        }
        #expect(seen.values == ["job of the same tick", "flush"])
        await loop.shutDown()
    }
}
