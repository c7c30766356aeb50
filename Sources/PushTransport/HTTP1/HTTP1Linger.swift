import Glibc
import PushLoop

/// A closed connection from which the server still reads, until the client closes as well or a time limit is reached.
///
/// The kernel resets a connection that is closed with unread bytes, and a client that is still sending would not
/// receive the refusal. The class uses a copy of the descriptor, so that evhttp may close its own.
final class HTTP1Linger {
    private let descriptor: CInt
    private var watch: Watch?
    private var timer: TimerID?
    private var whenDone: (() -> Void)?

    /// Copies the descriptor. Returns nil if the system has no descriptor left; the client may then see a reset.
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
