import Glibc

/// The ids of the records in the ring, each with the number of the last record that bore it: open addressing with linear
/// probing, at most half full, 24 bytes a place. Memory is taken as it is first touched.
@safe
struct IdentifierSet: ~Copyable {
    struct Mark: Equatable {
        /// Shifted by one, with the lowest bit saying that a record with this id was accepted; 0 marks a free place.
        fileprivate var bits: UInt64

        init(record: UInt64, isAccepted: Bool) {
            bits = record << 1 | (isAccepted ? 1 : 0)
        }

        fileprivate init(bits: UInt64) { self.bits = bits }

        var record: UInt64 { bits >> 1 }
        var isAccepted: Bool { bits & 1 == 1 }
    }

    private struct Slot {
        var first: UInt64
        var second: UInt64
        var bits: UInt64
    }

    private let slots: UnsafeMutablePointer<Slot>
    private let mask: Int
    private let most: Int
    private(set) var count = 0

    /// - Parameter most: how many ids there may be at once.
    init(most: Int) {
        var size = 16
        while size < 2 * most { size *= 2 }
        self.most = most
        mask = size - 1
        // Zeroed by the system, page by page when it is touched.
        guard let memory = unsafe calloc(size, MemoryLayout<Slot>.stride) else {
            fatalError("no memory for \(size) ids; lower the number of records to keep")
        }
        unsafe slots = memory.bindMemory(to: Slot.self, capacity: size)
    }

    deinit {
        unsafe free(slots)
    }

    @inline(__always)
    private func home(_ id: MessageID) -> Int {
        Int(truncatingIfNeeded: SplitMix.mix(id.first ^ id.second &* 0x9e37_79b9_7f4a_7c15)) & mask
    }

    /// The place of an id, or the free place where it belongs.
    @inline(__always)
    private func find(_ id: MessageID) -> Int {
        var place = home(id)
        while true {
            let slot = unsafe slots + place
            if unsafe slot.pointee.bits == 0 { return place }
            if unsafe slot.pointee.first == id.first && slot.pointee.second == id.second { return place }
            place = (place + 1) & mask
        }
    }

    func mark(of id: MessageID) -> Mark? {
        let bits = unsafe slots[find(id)].bits
        return bits == 0 ? nil : Mark(bits: bits)
    }

    /// Sets the mark of an id and returns the one it had.
    @inline(__always)
    mutating func set(_ mark: Mark, for id: MessageID) -> Mark? {
        let place = find(id)
        let before = unsafe slots[place].bits
        if before == 0 {
            precondition(count < most, "more ids than the set was made for")
            count += 1
        }
        unsafe slots[place] = Slot(first: id.first, second: id.second, bits: mark.bits)
        return before == 0 ? nil : Mark(bits: before)
    }

    /// Takes an id out if its mark names this record.
    mutating func remove(_ id: MessageID, record: UInt64) {
        var hole = find(id)
        guard unsafe slots[hole].bits != 0, unsafe slots[hole].bits >> 1 == record else { return }
        count -= 1
        // Later ids of the same run move up, unless that would put them before their home.
        var next = (hole + 1) & mask
        while unsafe slots[next].bits != 0 {
            let slot = unsafe slots[next]
            let home = home(MessageID(first: slot.first, second: slot.second, isUppercase: false))
            if (next - home) & mask >= (next - hole) & mask {
                unsafe slots[hole] = slot
                hole = next
            }
            next = (next + 1) & mask
        }
        unsafe slots[hole].bits = 0
    }

    mutating func removeAll() {
        unsafe memset(slots, 0, (mask + 1) * MemoryLayout<Slot>.stride)
        count = 0
    }
}
