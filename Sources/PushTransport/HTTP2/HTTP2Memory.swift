import CNGHTTP2
import Glibc

/// Memory for one nghttp2 session, which asks for a handful of small blocks for each stream and gives them back soon.
///
/// Blocks lie in slabs and are used again from a list for each size; everything goes when the session goes. The
/// system's allocator costs several times as much here: so many streams are open at once that they overflow its caches.
@safe
struct HTTP2Memory: ~Copyable {
    /// What goes before each block: the number of its size, and padding that keeps the alignment of `malloc`.
    private static let headerSize = 16
    private static let step = 32
    /// Blocks above this come from the system.
    private static let largest = 1024
    private static let system = largest / step + 1
    private static let slabSize = 16 * 1024

    @safe
    private struct State {
        /// By size; a free block's first word is the next one.
        var free: UnsafeMutablePointer<UnsafeMutableRawPointer?>
        var slab: UnsafeMutableRawPointer?
        var slabLeft = 0
        /// All slabs, each with the address of the one before it in its first word.
        var slabs: UnsafeMutableRawPointer?
    }

    private let state: UnsafeMutablePointer<State>
    let functions: UnsafeMutablePointer<nghttp2_mem>

    init() {
        unsafe state = .allocate(capacity: 1)
        let lists = UnsafeMutablePointer<UnsafeMutableRawPointer?>.allocate(capacity: Self.system)
        unsafe lists.initialize(repeating: nil, count: Self.system)
        unsafe state.initialize(to: State(free: lists))
        unsafe functions = .allocate(capacity: 1)
        unsafe functions.initialize(
            to: nghttp2_mem(
                mem_user_data: state,
                malloc: { size, state in unsafe HTTP2Memory.allocate(size, state) },
                free: { block, state in unsafe HTTP2Memory.release(block, state) },
                calloc: { count, size, state in
                    let (bytes, overflow) = count.multipliedReportingOverflow(by: size)
                    guard !overflow, let block = unsafe HTTP2Memory.allocate(bytes, state) else { return nil }
                    unsafe memset(block, 0, bytes)
                    return unsafe block
                },
                realloc: { block, size, state in unsafe HTTP2Memory.resize(block, size, state) }))
    }

    /// The session must be gone.
    deinit {
        var next = unsafe state.pointee.slabs
        while let slab = unsafe next {
            unsafe next = slab.load(as: UnsafeMutableRawPointer?.self)
            unsafe Glibc.free(slab)
        }
        unsafe state.pointee.free.deallocate()
        unsafe state.deallocate()
        unsafe functions.deallocate()
    }

    private static func allocate(_ size: Int, _ state: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
        let state = unsafe state!.assumingMemoryBound(to: State.self)
        // A block of no bytes still needs room for its place in a list.
        let number = size > largest ? system : max(1, (size + step - 1) / step)
        guard number < system else {
            let (bytes, overflow) = size.addingReportingOverflow(headerSize)
            guard !overflow, let block = unsafe malloc(bytes) else { return nil }
            return unsafe mark(block, system)
        }
        if let block = unsafe state.pointee.free[number] {
            unsafe state.pointee.free[number] = block.load(as: UnsafeMutableRawPointer?.self)
            return unsafe block
        }
        let bytes = headerSize + number * step
        if unsafe state.pointee.slabLeft < bytes {
            guard let slab = unsafe malloc(slabSize) else { return nil }
            unsafe slab.storeBytes(of: state.pointee.slabs, as: UnsafeMutableRawPointer?.self)
            unsafe state.pointee.slabs = unsafe slab
            unsafe state.pointee.slab = unsafe slab + headerSize
            unsafe state.pointee.slabLeft = slabSize - headerSize
        }
        let place = unsafe state.pointee.slab!
        unsafe state.pointee.slab = unsafe place + bytes
        unsafe state.pointee.slabLeft -= bytes
        return unsafe mark(place, number)
    }

    private static func mark(_ place: UnsafeMutableRawPointer, _ number: Int) -> UnsafeMutableRawPointer {
        unsafe place.storeBytes(of: number, as: Int.self)
        return unsafe place + headerSize
    }

    private static func release(_ block: UnsafeMutableRawPointer?, _ state: UnsafeMutableRawPointer?) {
        guard let block = unsafe block else { return }
        let number = unsafe (block - headerSize).load(as: Int.self)
        guard number < system else {
            unsafe Glibc.free(block - headerSize)
            return
        }
        let state = unsafe state!.assumingMemoryBound(to: State.self)
        unsafe block.storeBytes(of: state.pointee.free[number], as: UnsafeMutableRawPointer?.self)
        unsafe state.pointee.free[number] = unsafe block
    }

    private static func resize(
        _ block: UnsafeMutableRawPointer?, _ size: Int, _ state: UnsafeMutableRawPointer?
    ) -> UnsafeMutableRawPointer? {
        guard let block = unsafe block else { return unsafe allocate(size, state) }
        let number = unsafe (block - headerSize).load(as: Int.self)
        if number == system, size > largest {
            let (bytes, overflow) = size.addingReportingOverflow(headerSize)
            guard !overflow else { return nil }
            return unsafe realloc(block - headerSize, bytes).map { unsafe $0 + headerSize }
        }
        guard let moved = unsafe allocate(size, state) else { return nil }
        // A block of the system's is larger than anything that is moved out of it here.
        unsafe memcpy(moved, block, min(size, number == system ? size : number * step))
        unsafe release(block, state)
        return unsafe moved
    }
}
