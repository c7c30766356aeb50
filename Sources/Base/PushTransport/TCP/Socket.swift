private import CLinux
import Glibc
import PushLoop

/// An owner of one socket descriptor, which it closes at the end of its lifetime. The socket is nonblocking and
/// close-on-exec.
package struct Socket: ~Copyable {
    private(set) var descriptor: CInt

    init(owning descriptor: CInt) {
        self.descriptor = descriptor
    }

    deinit {
        if descriptor >= 0 { Glibc.close(descriptor) }
    }

    /// Closes the descriptor early. Every later call fails with "bad file descriptor".
    mutating func close() {
        guard descriptor >= 0 else { return }
        Glibc.close(descriptor)
        descriptor = -1
    }

    /// Closes the socket with a reset, to refuse a connection.
    package consuming func refuse() {
        closeHard()
    }

    static func stream(family: CInt) throws(SystemError) -> Socket {
        let kind = CInt(SOCK_STREAM.rawValue) | CInt(SOCK_NONBLOCK.rawValue) | CInt(SOCK_CLOEXEC.rawValue)
        let descriptor = socket(family, kind, 0)
        guard descriptor >= 0 else { throw .current }
        return Socket(owning: descriptor)
    }

    /// Returns a TCP socket that is bound to the address and listens.
    ///
    /// - Parameter prepare: Called with the descriptor before a client can connect.
    static func listening(
        at address: SocketAddress, backlog: CInt, prepare: (CInt) -> Void = { _ in }
    ) throws(SystemError) -> Socket {
        let socket = try stream(family: address.family)
        socket.setOption(SO_REUSEADDR, at: SOL_SOCKET, to: 1)
        // Listen on exactly the requested address, whatever the system's default for IPv6 sockets is.
        if address.family == AF_INET6 { socket.setOption(IPV6_V6ONLY, at: CInt(IPPROTO_IPV6), to: 1) }
        let descriptor = socket.descriptor
        prepare(descriptor)
        guard unsafe address.withSockaddr({ unsafe bind(descriptor, $0, $1) }) == 0, listen(descriptor, backlog) == 0
        else { throw .current }
        return socket
    }

    /// Gives up ownership and returns the descriptor.
    consuming func release() -> CInt {
        let descriptor = descriptor
        discard self
        return descriptor
    }

    /// Returns the result of a connect in progress: nil if it succeeded.
    static func pendingError(of descriptor: CInt) -> SystemError? {
        var number: CInt = 0
        var length = socklen_t(MemoryLayout<CInt>.size)
        guard unsafe getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &number, &length) == 0 else { return .current }
        return number == 0 ? nil : SystemError(number: number)
    }

    /// Disables Nagle's algorithm. Frames are already collected before they are written.
    func sendWithoutDelay() {
        _ = CLinux_send_without_delay(descriptor)
    }

    /// Lets the kernel end the connection if the peer does not acknowledge output, or has no room for it, for so long. A
    /// socket without that option stays as it is.
    func limitUnacknowledged(to time: Duration) {
        let milliseconds = time.components.seconds.multipliedReportingOverflow(by: 1000)
        guard !milliseconds.overflow, let value = CInt(exactly: milliseconds.partialValue), value > 0 else { return }
        setOption(TCP_USER_TIMEOUT, at: CInt(IPPROTO_TCP), to: value)
    }

    func setOption(_ option: CInt, at level: CInt, to value: CInt) {
        var value = value
        unsafe _ = setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<CInt>.size))
    }

    /// Shuts down the write side. The peer reads the sent bytes and then the end; this side may still receive.
    func endSending() {
        shutdown(descriptor, CInt(SHUT_WR))
    }

    /// Makes the close send a reset (RST), so that the peer learns that bytes in flight are lost.
    func closeHard() {
        var option = Glibc.linger(l_onoff: 1, l_linger: 0)
        unsafe _ = setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    }

    /// Accepts a waiting connection, or returns nil if there is none.
    func accept() throws(SystemError) -> Socket? {
        while true {
            let accepted = CLinux_accept(descriptor, nil, nil)
            if accepted >= 0 { return Socket(owning: accepted) }
            switch errno {
            case EINTR, ECONNABORTED: continue
            case EAGAIN: return nil
            default: throw .current
            }
        }
    }

    /// The number of sent bytes that the peer's TCP has not acknowledged, or 0 if the system does not report it.
    var unacknowledged: Int { max(0, Int(CLinux_unacknowledged(descriptor))) }

    enum Transfer: Equatable {
        case bytes(Int)
        case wouldBlock
        case ended
        case failed(SystemError)
    }

    func receive(into buffer: UnsafeMutableRawBufferPointer) -> Transfer {
        while true {
            let count = unsafe recv(descriptor, buffer.baseAddress, buffer.count, 0)
            if count > 0 { return .bytes(count) }
            if count == 0 { return .ended }
            switch errno {
            case EINTR: continue
            case EAGAIN: return .wouldBlock
            default: return .failed(.current)
            }
        }
    }

    func send(_ bytes: UnsafeRawBufferPointer) -> Transfer {
        while true {
            let count = unsafe Glibc.send(descriptor, bytes.baseAddress, bytes.count, CInt(MSG_NOSIGNAL))
            if count >= 0 { return .bytes(count) }
            switch errno {
            case EINTR: continue
            case EAGAIN: return .wouldBlock
            default: return .failed(.current)
            }
        }
    }
}
