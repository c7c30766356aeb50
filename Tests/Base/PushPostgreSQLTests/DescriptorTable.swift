import Glibc
import PushLoop

extension EventLoop {
    /// Gives the thread of this loop a table of descriptors of its own, and fills it. Other threads notice nothing.
    func takeDescriptors() async {
        await run {
            typealias Unshare = @convention(c) (CInt) -> CInt
            let files: CInt = 0x400
            guard let symbol = dlsym(nil, "unshare"), unsafeBitCast(symbol, to: Unshare.self)(files) == 0 else {
                return
            }
            while dup(0) >= 0 {}
        }
    }

    /// Frees some of the descriptors that ``takeDescriptors()`` took.
    func releaseDescriptors() async {
        await run {
            var limit = rlimit()
            getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            for descriptor in 1...64 { close(CInt(truncatingIfNeeded: Int(limit.rlim_cur) - descriptor)) }
        }
    }
}
