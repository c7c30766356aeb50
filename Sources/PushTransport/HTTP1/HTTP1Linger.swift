import Glibc
import PushLoop

/// Reads on from a connection that was closed on this side, until the client closes too or time is up.
///
/// The kernel resets a connection that is closed over unread bytes, and a client that is still sending would lose the
/// refusal that was meant for it. Holds a copy of the descriptor, so it does not matter what evhttp does with its own.
final class HTTP1Linger {
    private let descriptor: CInt
    private var watch: Watch?
    private var timer: TimerID?
    private var whenDone: (() -> Void)?

    /// Nil if the system has no descriptor left; then the client may see a reset.
    init?(copyOf descriptor: CInt) {
        let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        guard copy >= 0 else { return nil }
        self.descriptor = copy
    }

    deinit {
        close(descriptor)
    }

    func start(for time: Duration, on loop: EventLoop, whenDone: @escaping () -> Void) {
        self.whenDone = whenDone
        let watch = Watch(descriptor, on: loop) { [unowned self] _ in drain(on: loop) }
        watch.interest = .readable
        self.watch = watch
        timer = loop.schedule(after: time) { [unowned self] in
            timer = nil
            finish(on: loop)
        }
    }

    private func drain(on loop: EventLoop) {
        let count = unsafe withUnsafeTemporaryAllocation(byteCount: 65536, alignment: 1) { unused in
            unsafe read(descriptor, unused.baseAddress, unused.count)
        }
        if count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR) {
            finish(on: loop)
        }
    }

    private func finish(on loop: EventLoop) {
        if let timer = timer.take() { loop.cancel(timer) }
        watch.take()?.cancel()
        whenDone.take()?()
    }
}
