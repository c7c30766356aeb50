import PushThread

/// A first-in, first-out queue on one array. The space of removed jobs is reclaimed when the queue is empty or when
/// they fill at least half of the array, since a queue in constant use may never become empty.
struct JobQueue {
    /// The jobs; nil after removal, so that a job is freed before the array is compacted.
    private var jobs: [Job?] = []
    private var head = 0

    /// The number of removed jobs below which compacting is not worthwhile.
    private static let minRemovedCount = 1024

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
        } else if head >= Self.minRemovedCount, 2 * head >= jobs.count {
            // On average, each removed job costs at most one move.
            jobs.removeSubrange(..<head)
            head = 0
        }
        return job
    }
}
