/// The identity of an element of a ``SlotTable``: a slot, and its generation. When the element is removed, the handle
/// becomes invalid: it does not match the next element in that slot.
protocol SlotHandle: Hashable, Sendable {
    var slot: UInt32 { get }
    var generation: UInt32 { get }

    init(slot: UInt32, generation: UInt32)
}

/// The elements that have a handle. Free slots are reused.
///
/// The elements are in memory of their own, where they are read and changed in place. The subscript of an array returns
/// a copy, and for a large element its references are then retained and released for the sake of one field.
@safe struct SlotTable<Handle: SlotHandle, Element>: ~Copyable {
    private var elements: UnsafeMutablePointer<Element>
    private var capacity: Int
    /// The generation of each slot. It is odd while the slot holds an element.
    private var generations: [UInt32] = []
    private var free: [UInt32] = []

    init() {
        capacity = 16
        unsafe elements = .allocate(capacity: capacity)
    }

    deinit {
        for slot in generations.indices where generations[slot] & 1 == 1 {
            unsafe (elements + slot).deinitialize(count: 1)
        }
        unsafe elements.deallocate()
    }

    var count: Int { generations.count - free.count }

    /// Adds an element and returns its handle.
    mutating func add(_ element: consuming Element) -> Handle {
        let slot: UInt32
        if let last = free.popLast() {
            slot = last
        } else {
            if generations.count == capacity { grow() }
            slot = UInt32(generations.count)
            generations.append(0)
        }
        generations[Int(slot)] &+= 1
        unsafe (elements + Int(slot)).initialize(to: element)
        return Handle(slot: slot, generation: generations[Int(slot)])
    }

    /// Doubles the capacity. All slots hold elements then.
    private mutating func grow() {
        let larger = UnsafeMutablePointer<Element>.allocate(capacity: 2 * capacity)
        unsafe larger.moveInitialize(from: elements, count: capacity)
        unsafe elements.deallocate()
        unsafe elements = larger
        capacity *= 2
    }

    /// Returns whether the handle refers to an element: it was issued, and the element was not removed.
    @inline(__always)
    func contains(_ handle: Handle) -> Bool {
        let slot = Int(handle.slot)
        return slot < generations.count && generations[slot] == handle.generation && handle.generation & 1 == 1
    }

    /// The element of a valid handle.
    subscript(handle: Handle) -> Element {
        @inline(__always)
        _read {
            precondition(contains(handle), "router: the handle is not valid")
            yield unsafe elements[Int(handle.slot)]
        }
        @inline(__always)
        _modify {
            precondition(contains(handle), "router: the handle is not valid")
            yield unsafe &elements[Int(handle.slot)]
        }
    }

    /// Calls `visit` for each element with its handle, in the order of their slots.
    func forEach(_ visit: (Handle, borrowing Element) -> Void) {
        for slot in generations.indices where generations[slot] & 1 == 1 {
            visit(Handle(slot: UInt32(slot), generation: generations[slot]), unsafe elements[slot])
        }
    }

    /// Returns the handles of the elements for which `isMeant` returns true, in the order of their slots.
    func handles(where isMeant: (borrowing Element) -> Bool) -> [Handle] {
        var found: [Handle] = []
        forEach { handle, element in if isMeant(element) { found.append(handle) } }
        return found
    }

    mutating func remove(_ handle: Handle) {
        precondition(contains(handle), "router: the handle is not valid")
        unsafe (elements + Int(handle.slot)).deinitialize(count: 1)
        generations[Int(handle.slot)] &+= 1
        free.append(handle.slot)
    }
}
