/// One thing to run on a loop. An actor's job costs no allocation; a closure costs its own.
enum LoopJob {
    case job(UnownedJob)
    case closure(@Sendable () -> Void)
}

/// First in, first out, on one growing array: the popped front is given back when the queue runs empty.
struct JobQueue {
    private var jobs: [LoopJob] = []
    private var head = 0

    var isEmpty: Bool { head == jobs.count }

    mutating func append(_ job: LoopJob) {
        jobs.append(job)
    }

    mutating func append(contentsOf other: inout [LoopJob]) {
        if isEmpty, jobs.isEmpty {
            swap(&jobs, &other)
        } else {
            jobs.append(contentsOf: other)
            other.removeAll(keepingCapacity: true)
        }
    }

    mutating func popFirst() -> LoopJob? {
        guard head < jobs.count else { return nil }
        let job = jobs[head]
        head += 1
        if head == jobs.count {
            jobs.removeAll(keepingCapacity: jobs.count <= 8192)
            head = 0
        }
        return job
    }
}
