import PushThread

/// First in, first out, on one array. The popped front is given back when the queue runs empty, or when it is the
/// larger half: actors that keep calling each other never let the queue run empty.
struct JobQueue {
    /// Nil where a job was popped: what it holds must not wait for the array to be emptied.
    private var jobs: [Job?] = []
    private var head = 0

    /// A front shorter than this is not worth moving the rest for.
    private static let longFront = 1024

    var isEmpty: Bool { head == jobs.count }
    var capacity: Int { jobs.capacity }

    mutating func append(_ job: Job) {
        jobs.append(job)
    }

    mutating func append(contentsOf other: inout [Job?]) {
        if isEmpty, jobs.isEmpty {
            swap(&jobs, &other)
        } else {
            jobs.append(contentsOf: other)
            other.removeAll(keepingCapacity: true)
        }
    }

    mutating func popFirst() -> Job? {
        guard head < jobs.count else { return nil }
        let job = jobs[head].take()
        head += 1
        if head == jobs.count {
            jobs.removeAll(keepingCapacity: jobs.count <= 8192)
            head = 0
        } else if head >= Self.longFront, 2 * head >= jobs.count {
            // Each job is moved at most once for each one popped.
            jobs.removeSubrange(..<head)
            head = 0
        }
        return job
    }
}
