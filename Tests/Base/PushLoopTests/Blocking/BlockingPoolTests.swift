import Glibc
import Synchronization
import TestSupport
import Testing

@testable import PushLoop
@testable import PushThread

func currentThreadName() -> String {
    guard let file = fopen("/proc/thread-self/comm", "r") else { return "" }
    defer { fclose(file) }
    var bytes = [CChar](repeating: 0, count: 64)
    guard fgets(&bytes, CInt(bytes.count), file) != nil else { return "" }
    return String(decoding: bytes.prefix { $0 != 0 && $0 != 10 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
}

/// A gate that blocks the threads of a pool until it is opened.
private final class Gate: Sendable {
    private let state = Monitor((inside: 0, isOpen: false))

    func pass() {
        state.withLock { $0.inside += 1 }
        state.wakeAll()
        state.wait { $0.isOpen ? () : nil }
    }

    /// Waits on its own thread, so that it does not block a thread that runs tests.
    func waitUntilInside(_ count: Int) async {
        let waiter = BlockingExecutor(name: "gate")
        await waiter.run { self.state.wait { $0.inside >= count ? () : nil } }
        await waiter.shutDown()
    }

    func open() {
        state.withLock { $0.isOpen = true }
        state.wakeAll()
    }
}

@Suite struct BlockingPoolTests {
    @Test("Values and errors are returned to the caller") func valuesAndErrorsComeBack() async throws {
        let pool = BlockingPool(name: "values", threadCount: 2, queueLimit: 10)
        #expect(try await pool.run { 42 } == 42)
        await #expect(throws: SystemError(number: 2)) { try await pool.run { throw SystemError(number: 2) } }
        await pool.shutDown()
    }

    @Test("Threads start on demand up to the limit and have names")
    func threadsStartOnDemandUpToTheBoundAndHaveNames() async throws {
        let pool = BlockingPool(name: "pool", threadCount: 3, queueLimit: 100)
        let names = Recorder<String>()
        for _ in 0..<5 { names.add(try await pool.run { currentThreadName() }) }
        #expect(Set(names.values) == ["pool-0"], "one call at a time needs one thread")

        let gate = Gate()
        try await withThrowingTaskGroup { group in
            for _ in 0..<3 {
                group.addTask {
                    try await pool.run {
                        names.add(currentThreadName())
                        gate.pass()
                    }
                }
            }
            await gate.waitUntilInside(3)
            #expect(pool.load == (0, 3))
            gate.open()
            try await group.waitForAll()
        }
        #expect(Set(names.values) == ["pool-0", "pool-1", "pool-2"])
        for _ in 0..<50 { names.add(try await pool.run { currentThreadName() }) }
        #expect(Set(names.values).count == 3)
        await pool.shutDown()
    }

    @Test("A finished call takes up no room in the pool") func callThatHasReturnedTakesNoRoom() async throws {
        let pool = BlockingPool(name: "full", threadCount: 1, queueLimit: 0)
        for _ in 0..<2000 {
            try await pool.run {}
            #expect(pool.load == (0, 0))
        }
        await pool.shutDown()
    }

    @Test("A call above the limit is rejected as busy") func callOverTheBoundIsRefusedAsBusy() async throws {
        let pool = BlockingPool(name: "busy", threadCount: 1, queueLimit: 2)
        let gate = Gate()
        let ran = Recorder<Int>()
        try await withThrowingTaskGroup { group in
            group.addTask { try await pool.run { gate.pass() } }
            await gate.waitUntilInside(1)
            for number in 0..<2 { group.addTask { try await pool.run { ran.add(number) } } }
            await wait(while: pool.load.waiting < 2)
            do {
                try await pool.run { ran.add(99) }
                Issue.record("the call was accepted")
            } catch let error as BlockingPoolError {
                #expect(error.code == .busy)
                #expect(error.message.contains("blocking pool busy"))
            }
            gate.open()
            try await group.waitForAll()
        }
        #expect(ran.values.sorted() == [0, 1])
        #expect(try await pool.run { 1 } == 1, "there is room again")
        await pool.shutDown()
    }

    @Test("A cancelled call that waits does not run") func cancelledCallThatWaitsDoesNotRun() async throws {
        let pool = BlockingPool(name: "cancel", threadCount: 1, queueLimit: 10)
        let gate = Gate()
        let ran = Recorder<String>()
        let first = Task { try await pool.run { gate.pass() } }
        await gate.waitUntilInside(1)
        let second = Task { try await pool.run { ran.add("second") } }
        let third = Task { try await pool.run { ran.add("third") } }
        await wait(while: pool.load.waiting < 2)
        second.cancel()
        // The call ends at once, while the thread is still blocked.
        await #expect(throws: CancellationError.self) { try await second.value }
        #expect(pool.load == (1, 1))
        gate.open()
        try await first.value
        try await third.value
        #expect(ran.values == ["third"])
        await pool.shutDown()
    }

    @Test("The call of a cancelled task does not run") func callOfACancelledTaskDoesNotRun() async {
        let pool = BlockingPool(name: "late", threadCount: 1, queueLimit: 10)
        let ran = Atomic(false)
        let task = Task {
            await waitForCancellation()
            try await pool.run { ran.store(true, ordering: .relaxed) }
        }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        await pool.shutDown()
        #expect(ran.load(ordering: .relaxed) == false)
    }

    @Test("Running work is not interrupted") func runningWorkIsNotInterrupted() async throws {
        let pool = BlockingPool(name: "running", threadCount: 1, queueLimit: 10)
        let gate = Gate()
        let task = Task {
            try await pool.run {
                gate.pass()
                return "finished"
            }
        }
        await gate.waitUntilInside(1)
        task.cancel()
        gate.open()
        #expect(try await task.value == "finished")
        await pool.shutDown()
    }

    @Test("Shutdown runs waiting calls and rejects new ones")
    func shutDownRunsWhatWaitsAndRefusesTheRest() async throws {
        let pool = BlockingPool(name: "stop", threadCount: 2, queueLimit: 100)
        let ran = Recorder<Int>()
        let gate = Gate()
        try await withThrowingTaskGroup { group in
            for _ in 0..<2 { group.addTask { try await pool.run { gate.pass() } } }
            await gate.waitUntilInside(2)
            for _ in 0..<50 {
                group.addTask { try await pool.run { ran.add(1) } }
            }
            await wait(while: pool.load.waiting < 50)
            gate.open()
            await pool.shutDown()
            #expect(ran.values.count == 50)
            try await group.waitForAll()
        }
        do {
            try await pool.run {}
            Issue.record("the call was accepted")
        } catch let error as BlockingPoolError {
            #expect(error.code == .stopped)
        }
        await pool.shutDown()
    }

    @Test("Each of many callers gets its own result") func manyCallersGetTheirOwnAnswers() async throws {
        let pool = BlockingPool(name: "many", threadCount: 4, queueLimit: 1000)
        try await withThrowingTaskGroup { group in
            for number in 0..<1000 {
                group.addTask {
                    let answer = try await pool.run { number * 2 }
                    #expect(answer == number * 2)
                }
            }
            try await group.waitForAll()
        }
        #expect(pool.load.waiting == 0)
        await pool.shutDown()
    }

    /// Cancels calls at every moment: each call ends exactly once, with a result or as cancelled.
    @Test("Each call ends once when it races with cancellation") func cancellationRacesEndEachCallOnce() async {
        let pool = BlockingPool(name: "race", threadCount: 2, queueLimit: 10_000)
        let ran = Recorder<Int>()
        var tasks: [Task<Bool, Never>] = []
        for number in 0..<2000 {
            let task = Task {
                do {
                    try await pool.run { ran.add(1) }
                    return true
                } catch {
                    return false
                }
            }
            if number % 2 == 0 { task.cancel() }
            tasks.append(task)
        }
        for task in tasks[...999] { task.cancel() }
        var answered = 0
        for task in tasks where await task.value { answered += 1 }
        await pool.shutDown()
        #expect(answered == ran.values.count)
        #expect(answered >= 500, "all calls that were not cancelled return a result")
    }
}
