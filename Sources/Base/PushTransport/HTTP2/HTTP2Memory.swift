import CNGHTTP2
import Glibc

/// The memory of one nghttp2 session, which allocates a few small blocks per stream and frees them soon.
///
/// Blocks are in slabs and are reused from a free list per size. All slabs are freed with the session. The system's
/// allocator costs several times as much here, because many open streams overflow its caches.
@safe
struct HTTP2Memory: ~Copyable {
    /// The size of the header before each block: the size class of the block, and padding for the alignment of
    /// `malloc`.
    private static let headerSize = 16
    private static let step = 32
    /// The maximum size of a block in a slab. Larger blocks come from the system.
    private static let maxSize = 1024
    private static let systemClass = maxSize / step + 1
    private static let slabSize = 16 * 1024

    @safe
    private struct State {
        /// The free lists by size class. The first word of a free block points to the next one.
        var free: UnsafeMutablePointer<UnsafeMutableRawPointer?>
        var slab: UnsafeMutableRawPointer?
        var slabLeft = 0
        /// The newest slab. The first word of each slab contains the address of the previous one.
        var slabs: UnsafeMutableRawPointer?
    }

    private let state: UnsafeMutablePointer<State>
    let functions: UnsafeMutablePointer<nghttp2_mem>

    init() {
        unsafe state = .allocate(capacity: 1)
        let lists = UnsafeMutablePointer<UnsafeMutableRawPointer?>.allocate(capacity: Self.systemClass)
        unsafe lists.initialize(repeating: nil, count: Self.systemClass)
        unsafe state.initialize(to: State(free: lists))
        unsafe functions = .allocate(capacity: 1)
        unsafe functions.initialize(
            to: nghttp2_mem(
                mem_user_data: state,
                malloc: { size, state in unsafe HTTP2Memory.allocate(size, in: state) },
                free: { block, state in unsafe HTTP2Memory.release(block, to: state) },
                calloc: { count, size, state in
                    let (bytes, overflow) = count.multipliedReportingOverflow(by: size)
                    guard !overflow, let block = unsafe HTTP2Memory.allocate(bytes, in: state) else { return nil }
                    unsafe memset(block, 0, bytes)
                    return unsafe block
                },
                realloc: { block, size, state in unsafe HTTP2Memory.resize(block, to: size, in: state) }))
    }

    /// Frees all slabs. The session must be deleted before.
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

    private static func allocate(_ size: Int, in state: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
        let state = unsafe state!.assumingMemoryBound(to: State.self)
        // A block of size zero still needs room for the pointer of the free list.
        let sizeClass = size > maxSize ? systemClass : max(1, (size + step - 1) / step)
        guard sizeClass < systemClass else {
            let (bytes, overflow) = size.addingReportingOverflow(headerSize)
            guard !overflow, let block = unsafe malloc(bytes) else { return nil }
            return unsafe mark(block, sizeClass: systemClass)
        }
        if let block = unsafe state.pointee.free[sizeClass] {
            unsafe state.pointee.free[sizeClass] = block.load(as: UnsafeMutableRawPointer?.self)
            return unsafe block
        }
        let bytes = headerSize + sizeClass * step
        if unsafe state.pointee.slabLeft < bytes {
            guard let slab = unsafe malloc(slabSize) else { return nil }
            unsafe slab.storeBytes(of: state.pointee.slabs, as: UnsafeMutableRawPointer?.self)
            unsafe state.pointee.slabs = unsafe slab
            unsafe state.pointee.slab = unsafe slab + headerSize
            unsafe state.pointee.slabLeft = slabSize - headerSize
        }
        let header = unsafe state.pointee.slab!
        unsafe state.pointee.slab = unsafe header + bytes
        unsafe state.pointee.slabLeft -= bytes
        return unsafe mark(header, sizeClass: sizeClass)
    }

    private static func mark(_ header: UnsafeMutableRawPointer, sizeClass: Int) -> UnsafeMutableRawPointer {
        unsafe header.storeBytes(of: sizeClass, as: Int.self)
        return unsafe header + headerSize
    }

    private static func release(_ block: UnsafeMutableRawPointer?, to state: UnsafeMutableRawPointer?) {
        guard let block = unsafe block else { return }
        let sizeClass = unsafe (block - headerSize).load(as: Int.self)
        guard sizeClass < systemClass else {
            unsafe Glibc.free(block - headerSize)
            return
        }
        let state = unsafe state!.assumingMemoryBound(to: State.self)
        unsafe block.storeBytes(of: state.pointee.free[sizeClass], as: UnsafeMutableRawPointer?.self)
        unsafe state.pointee.free[sizeClass] = unsafe block
    }

    private static func resize(
        _ block: UnsafeMutableRawPointer?, to size: Int, in state: UnsafeMutableRawPointer?
    ) -> UnsafeMutableRawPointer? {
        guard let block = unsafe block else { return unsafe allocate(size, in: state) }
        let sizeClass = unsafe (block - headerSize).load(as: Int.self)
        if sizeClass == systemClass, size > maxSize {
            let (bytes, overflow) = size.addingReportingOverflow(headerSize)
            guard !overflow else { return nil }
            return unsafe realloc(block - headerSize, bytes).map { unsafe $0 + headerSize }
        }
        guard let moved = unsafe allocate(size, in: state) else { return nil }
        // A system block is always larger than the block to which it moves here.
        unsafe memcpy(moved, block, min(size, sizeClass == systemClass ? size : sizeClass * step))
        unsafe release(block, to: state)
        return unsafe moved
    }
}
