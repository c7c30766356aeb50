private import CLinux
import Glibc

/// Runs `body` on a new detached thread with a name that tools show (at most 15 bytes of it).
package func startThread(named name: String, _ body: @escaping @Sendable () -> Void) {
    final class Start {
        let name: String
        let body: @Sendable () -> Void

        init(name: String, body: @escaping @Sendable () -> Void) {
            self.name = name
            self.body = body
        }
    }

    let start = unsafe Unmanaged.passRetained(Start(name: name, body: body))
    var attributes = pthread_attr_t()
    unsafe pthread_attr_init(&attributes)
    unsafe pthread_attr_setdetachstate(&attributes, CInt(PTHREAD_CREATE_DETACHED))
    var thread = pthread_t()
    let result = unsafe pthread_create(
        &thread, &attributes,
        { context in
            let start = unsafe Unmanaged<Start>.fromOpaque(context!).takeRetainedValue()
            unsafe _ = CLinux_name_thread(String(start.name.prefix(15)))
            start.body()
            return nil
        }, start.toOpaque())
    unsafe pthread_attr_destroy(&attributes)
    precondition(result == 0, "cannot start thread \(name): \(SystemError(number: result))")
}
