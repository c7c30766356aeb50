/// The identity of an element of a ``SlotTable``: a slot, and its generation. When the element is removed, the handle
/// becomes invalid: it does not match the next element in that slot.
protocol SlotHandle: Hashable, Sendable {
    var slot: UInt32 { get }
    var generation: UInt32 { get }

    init(slot: UInt32, generation: UInt32)
}

/// The elements that have a handle. Free slots are reused.
struct SlotTable<Handle: SlotHandle, Element> {
    private struct Slot {
        var element: Element?
        var generation: UInt32 = 1
    }

    private var slots: [Slot] = []
    private var free: [UInt32] = []

    var count: Int { slots.count - free.count }

    /// Adds an element and returns its handle.
    mutating func add(_ element: Element) -> Handle {
        if let slot = free.popLast() {
            slots[Int(slot)].element = element
            return Handle(slot: slot, generation: slots[Int(slot)].generation)
        }
        slots.append(Slot(element: element))
        return Handle(slot: UInt32(slots.count - 1), generation: 1)
    }

    /// Returns whether the handle refers to an element: it was issued, and the element was not removed.
    func contains(_ handle: Handle) -> Bool {
        let index = Int(handle.slot)
        return index < slots.count && slots[index].generation == handle.generation && slots[index].element != nil
    }

    /// The element of a valid handle.
    subscript(handle: Handle) -> Element {
        _read {
            check(handle)
            yield slots[Int(handle.slot)].element!
        }
        _modify {
            check(handle)
            yield &slots[Int(handle.slot)].element!
        }
    }

    mutating func remove(_ handle: Handle) {
        check(handle)
        slots[Int(handle.slot)].element = nil
        slots[Int(handle.slot)].generation &+= 1
        free.append(handle.slot)
    }

    private func check(_ handle: Handle) {
        guard slots[Int(handle.slot)].generation == handle.generation else {
            preconditionFailure("router: slot \(handle.slot) does not hold generation \(handle.generation)")
        }
    }
}
