private import CLinux
import Glibc
import PushLoop

/// Owns one socket descriptor and closes it in the end. Never blocks, never survives an exec.
package struct Socket: ~Copyable {
    private(set) var descriptor: CInt

    init(owning descriptor: CInt) {
        self.descriptor = descriptor
    }

    deinit {
        if descriptor >= 0 { Glibc.close(descriptor) }
    }

    /// Closes it before its owner goes. Every later call fails with "bad file descriptor".
    mutating func close() {
        guard descriptor >= 0 else { return }
        Glibc.close(descriptor)
        descriptor = -1
    }

    /// Closes it with a reset: for a connection that is not wanted.
    package consuming func refuse() {
        closeHard()
    }

    static func stream(family: CInt) throws(SystemError) -> Socket {
        let kind = CInt(SOCK_STREAM.rawValue) | CInt(SOCK_NONBLOCK.rawValue) | CInt(SOCK_CLOEXEC.rawValue)
        let descriptor = socket(family, kind, 0)
        guard descriptor >= 0 else { throw .current }
        return Socket(owning: descriptor)
    }

    /// One that is bound to an address of TCP and listens.
    ///
    /// - Parameter prepare: called with the descriptor before anyone can connect.
    static func listening(
        at address: SocketAddress, backlog: CInt, prepare: (CInt) -> Void = { _ in }
    ) throws(SystemError) -> Socket {
        let socket = try stream(family: address.family)
        socket.setOption(SOL_SOCKET, SO_REUSEADDR, 1)
        // What is listened on is what was asked for, whatever the machine's default.
        if address.family == AF_INET6 { socket.setOption(CInt(IPPROTO_IPV6), IPV6_V6ONLY, 1) }
        let descriptor = socket.descriptor
        prepare(descriptor)
        guard unsafe address.withSockaddr({ unsafe bind(descriptor, $0, $1) }) == 0, listen(descriptor, backlog) == 0
        else { throw .current }
        return socket
    }

    /// Gives the descriptor away.
    consuming func release() -> CInt {
        let descriptor = descriptor
        discard self
        return descriptor
    }

    /// What the kernel noted about a connect in progress; nil when it succeeded.
    static func pendingError(of descriptor: CInt) -> SystemError? {
        var number: CInt = 0
        var length = socklen_t(MemoryLayout<CInt>.size)
        guard unsafe getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &number, &length) == 0 else { return .current }
        return number == 0 ? nil : SystemError(number: number)
    }

    /// Frames are gathered before they are written, so the kernel must not wait for more.
    func sendWithoutDelay() {
        _ = CLinux_send_without_delay(descriptor)
    }

    func setOption(_ level: CInt, _ option: CInt, _ value: CInt) {
        var value = value
        unsafe _ = setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<CInt>.size))
    }

    /// The peer reads what was sent, and then an end. This side may still receive.
    func endSending() {
        shutdown(descriptor, CInt(SHUT_WR))
    }

    /// Closing then sends RST: the peer learns that what was in flight is lost.
    func closeHard() {
        var option = Glibc.linger(l_onoff: 1, l_linger: 0)
        unsafe _ = setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    }

    /// Takes one waiting connection; nil when there is none.
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

    /// How much of what was sent waits for the peer's TCP to say that it has it. None if the system does not say.
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
