import Testing

@testable import PushLoop

@Suite struct JobQueueTests {
    private final class Marker: Sendable {}

    private static func runAll(_ queue: inout JobQueue) {
        while let job = queue.popFirst() { run(job) }
    }

    private static func run(_ job: Job) {
        guard case .closure(let work) = job else {
            Issue.record("not a closure")
            return
        }
        work()
    }

    @Test("Jobs leave the queue in the order of their arrival") func firstInFirstOut() {
        let seen = Recorder<Int>()
        var queue = JobQueue()
        var others: [Job?] = []
        queue.append(.closure { seen.add(1) })
        queue.append(.closure { seen.add(2) })
        others = (3...5).map { number in Job.closure { seen.add(number) } }
        queue.append(contentsOf: &others)
        #expect(others.isEmpty)
        queue.append(.closure { seen.add(6) })
        Self.runAll(&queue)
        #expect(queue.isEmpty)
        #expect(seen.values == [1, 2, 3, 4, 5, 6])
        others = [.closure { seen.add(7) }]
        queue.append(contentsOf: &others)
        #expect(others.isEmpty)
        Self.runAll(&queue)
        #expect(seen.values == [1, 2, 3, 4, 5, 6, 7])
    }

    /// Two actors that call each other keep the queue from ever becoming empty.
    @Test("A queue that never becomes empty does not grow") func queueThatNeverRunsEmptyDoesNotGrow() {
        var queue = JobQueue()
        let seen = Recorder<Int>()
        for number in 0..<3 { queue.append(.closure { seen.add(number) }) }
        for number in 3..<200_000 {
            guard let job = queue.popFirst() else {
                Issue.record("the queue ran empty")
                return
            }
            if number % 1000 == 0 { Self.run(job) }
            queue.append(.closure { seen.add(number) })
        }
        #expect(queue.capacity < 10_000)
        Self.runAll(&queue)
        #expect(Array(seen.values.suffix(3)) == [199_997, 199_998, 199_999])
        #expect(seen.values == seen.values.sorted())
    }

    @Test("The captures of a job are freed when it has run") func whatAJobHoldsIsGivenBackWhenItHasRun() {
        var queue = JobQueue()
        weak var held: Marker?
        do {
            let marker = Marker()
            held = marker
            queue.append(.closure { _ = marker })
        }
        queue.append(.closure {})
        #expect(held != nil)
        _ = queue.popFirst()
        #expect(held == nil)
        #expect(!queue.isEmpty)
    }
}
