import Synchronization
import Testing

@testable import PushLoop
@testable import PushThread

/// An actor that may block.
private actor Store {
    let executor: BlockingExecutor
    private(set) var numbers: [Int] = []

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    init(_ executor: BlockingExecutor) {
        self.executor = executor
    }

    func append(_ number: Int) -> Bool {
        numbers.append(number)
        return executor.isOnExecutor
    }
}

@Suite struct BlockingExecutorTests {
    @Test("Jobs run in order on one thread") func jobsRunInOrderOnOneThread() async {
        let executor = BlockingExecutor(name: "order")
        let seen = Recorder<Int>()
        for number in 0..<10_000 {
            executor.execute { seen.add(number) }
        }
        #expect(await executor.run { executor.isOnExecutor })
        #expect(!executor.isOnExecutor)
        #expect(seen.values == Array(0..<10_000))
        await executor.shutDown()
    }

    @Test("An actor runs on its executor, one call at a time") func actorRunsOnItAndIsSerial() async {
        let executor = BlockingExecutor(name: "store")
        let store = Store(executor)
        await withTaskGroup { group in
            for task in 0..<20 {
                group.addTask {
                    for number in 0..<50 {
                        let isThere = await store.append(task * 50 + number)
                        #expect(isThere)
                    }
                }
            }
        }
        #expect(await store.numbers.sorted() == Array(0..<1000))
        await executor.shutDown()
    }

    @Test("assumeIsolated works on the executor") func assumeIsolatedWorksOnIt() async {
        let executor = BlockingExecutor(name: "raw")
        let store = Store(executor)
        let wasThere = await executor.run { store.assumeIsolated { $0.append(1) } }
        #expect(wasThere)
        #expect(await executor.run { executor.isIsolatingCurrentContext() } == true)
        #expect(executor.isIsolatingCurrentContext() == false)
        await executor.shutDown()
    }

    @Test("assumeIsolated on another executor ends the process") func assumeIsolatedElsewhereEndsTheProcess() async {
        await #expect(processExitsWith: .failure) {
            let store = Store(BlockingExecutor(name: "here"))
            await BlockingExecutor(name: "there").run { store.assumeIsolated { _ = $0.append(1) } }
        }
    }

    @Test("Errors are passed to the caller") func errorsComeBack() async {
        let executor = BlockingExecutor(name: "errors")
        await #expect(throws: SystemError(number: 5)) {
            try await executor.run { () throws(SystemError) in throw SystemError(number: 5) }
        }
        await executor.shutDown()
    }

    @Test("Shutdown runs all queued jobs") func shutDownRunsWhatIsQueued() async {
        let executor = BlockingExecutor(name: "drain")
        let gate = Monitor(false)
        let ran = Atomic(0)
        executor.execute { gate.wait { $0 ? () : nil } }
        for _ in 0..<1000 {
            executor.execute {
                ran.wrappingAdd(1, ordering: .relaxed)
                executor.execute { ran.wrappingAdd(1, ordering: .relaxed) }
            }
        }
        async let ended: Void = executor.shutDown()
        gate.withLock { $0 = true }
        gate.wakeAll()
        await ended
        #expect(ran.load(ordering: .relaxed) == 2000)
    }

    @Test("Enqueuing on a stopped executor ends the process") func enqueuingOnAStoppedExecutorEndsTheProcess() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let executor = BlockingExecutor(name: "gone")
            await executor.shutDown()
            executor.execute {}
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(text.contains("blocking executor gone has stopped"))
    }

    @Test("The thread has the executor's name") func threadHasItsName() async {
        let executor = BlockingExecutor(name: "a-name-longer-than-fifteen")
        #expect(await executor.run { currentThreadName() } == "a-name-longer-t")
        await executor.shutDown()
    }
}
