import Glibc
import PushRandom

/// The ids of the records in the ring, each with the number of the last record that has it. The table uses open
/// addressing with linear probing, is at most half full, and takes 24 bytes per slot. Its memory becomes resident when
/// it is first touched.
@safe
struct IdentifierSet: ~Copyable {
    struct Mark: Equatable {
        /// The record's number shifted left by one. The lowest bit is set if a record with this id was accepted; 0
        /// marks a free slot.
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
    private let maxCount: Int
    private(set) var count = 0

    /// - Parameter maxCount: The maximum number of ids at the same time.
    init(maxCount: Int) {
        var size = 16
        while size < 2 * maxCount { size *= 2 }
        self.maxCount = maxCount
        mask = size - 1
        // The system provides zeroed pages when they are first touched.
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
        Int(truncatingIfNeeded: SeededRandom.mix(id.first ^ id.second &* 0x9e37_79b9_7f4a_7c15)) & mask
    }

    /// Returns the slot of an id, or the free slot where it belongs.
    @inline(__always)
    private func find(_ id: MessageID) -> Int {
        var index = home(id)
        while true {
            let slot = unsafe slots + index
            if unsafe slot.pointee.bits == 0 { return index }
            if unsafe slot.pointee.first == id.first && slot.pointee.second == id.second { return index }
            index = (index + 1) & mask
        }
    }

    func mark(of id: MessageID) -> Mark? {
        let bits = unsafe slots[find(id)].bits
        return bits == 0 ? nil : Mark(bits: bits)
    }

    /// Sets the mark of an id and returns the previous one.
    @inline(__always)
    mutating func set(_ mark: Mark, for id: MessageID) -> Mark? {
        let index = find(id)
        let before = unsafe slots[index].bits
        if before == 0 {
            precondition(count < maxCount, "more ids than the set was made for")
            count += 1
        }
        unsafe slots[index] = Slot(first: id.first, second: id.second, bits: mark.bits)
        return before == 0 ? nil : Mark(bits: before)
    }

    /// Removes an id if its mark names this record.
    mutating func remove(_ id: MessageID, record: UInt64) {
        var hole = find(id)
        guard unsafe slots[hole].bits != 0, unsafe slots[hole].bits >> 1 == record else { return }
        count -= 1
        // Move later ids of the same run up, unless that would put them before their home slot.
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
