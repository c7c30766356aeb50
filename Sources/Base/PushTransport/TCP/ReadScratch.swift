import Glibc

/// A read buffer per thread. Its content is consumed before the next read.
@safe
enum ReadScratch {
    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        let result = unsafe pthread_key_create(&key) { unsafe free($0) }
        precondition(result == 0, "cannot create the thread-specific read buffer")
        return key
    }()

    static func ofThisThread() -> UnsafeMutableRawBufferPointer {
        let size = 64 * 1024
        if let memory = unsafe pthread_getspecific(key) {
            return unsafe UnsafeMutableRawBufferPointer(start: memory, count: size)
        }
        guard let memory = unsafe malloc(size) else { fatalError("out of memory for a read buffer") }
        unsafe pthread_setspecific(key, memory)
        return unsafe UnsafeMutableRawBufferPointer(start: memory, count: size)
    }
}
