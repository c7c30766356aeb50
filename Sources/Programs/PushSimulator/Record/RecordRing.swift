/// The last records, numbered from 1 without gaps. Memory becomes resident when it is first used, up to the capacity.
@safe
struct RecordRing: ~Copyable {
    private let storage: UnsafeMutablePointer<Record>
    let capacity: Int
    /// The number of the newest record; 0 before the first one.
    private(set) var newest: UInt64 = 0
    /// The number of the oldest record that is kept. Older ones were overwritten or deleted by a command.
    private(set) var oldest: UInt64 = 1
    private var cursor = 0

    init(capacity: Int) {
        precondition(capacity > 0, "a record ring needs room for one record")
        self.capacity = capacity
        unsafe storage = .allocate(capacity: capacity)
    }

    deinit {
        unsafe storage.deallocate()
    }

    var count: Int { Int(newest + 1 - oldest) }
    var isFull: Bool { count == capacity }

    /// Adds a record, which replaces the oldest one if the ring is full. Returns its number.
    @inline(__always)
    mutating func append(_ record: Record) -> UInt64 {
        if isFull { oldest += 1 }
        newest += 1
        unsafe (storage + cursor).initialize(to: record)
        cursor += 1
        if cursor == capacity { cursor = 0 }
        return newest
    }

    func contains(_ number: UInt64) -> Bool { number >= oldest && number <= newest }

    subscript(number: UInt64) -> Record {
        get { unsafe storage[index(number)] }
        set { unsafe storage[index(number)] = newValue }
    }

    private func index(_ number: UInt64) -> Int {
        precondition(contains(number), "record \(number) is not in \(oldest)...\(newest)")
        let back = Int(newest - number) + 1
        return cursor >= back ? cursor - back : cursor - back + capacity
    }

    mutating func removeAll() { oldest = newest + 1 }
}
