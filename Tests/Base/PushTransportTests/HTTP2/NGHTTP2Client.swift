import CNGHTTP2
import PushTransport

/// A client of nghttp2, with which the client of this project is compared.
final class NGHTTP2Client {
    /// How a stream ended: the answer, or the code of its reset.
    struct Outcome: Equatable {
        var fields: [[String]] = []
        var body = ""
        var code: UInt32?
    }

    private var session: OpaquePointer!
    private var bodies: [Int32: (bytes: [UInt8], sent: Int)] = [:]
    fileprivate(set) var outcomes: [Int32: Outcome] = [:]

    init() {
        var callbacks: OpaquePointer?
        nghttp2_session_callbacks_new(&callbacks)
        defer { nghttp2_session_callbacks_del(callbacks) }
        nghttp2_session_callbacks_set_on_header_callback(callbacks) {
            _, frame, name, nameCount, value, count, _, user in
            let field = [(name, nameCount), (value, count)].map { start, count in
                String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
            }
            client(user).outcomes[frame!.pointee.hd.stream_id, default: .init()].fields.append(field)
            return 0
        }
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks) { _, _, stream, bytes, count, user in
            let text = String(decoding: UnsafeBufferPointer(start: bytes, count: count), as: UTF8.self)
            client(user).outcomes[stream, default: .init()].body += text
            return 0
        }
        nghttp2_session_callbacks_set_on_stream_close_callback(callbacks) { _, stream, code, user in
            client(user).outcomes[stream, default: .init()].code = code
            return 0
        }
        nghttp2_session_client_new(&session, callbacks, Unmanaged.passUnretained(self).toOpaque())
        var push = nghttp2_settings_entry(settings_id: 2, value: 0)
        nghttp2_submit_settings(session, 0, &push, 1)
    }

    deinit { nghttp2_session_del(session) }

    func submit(_ fields: [(name: String, value: String)], body: [UInt8]) {
        let texts = fields.map { (SharedText($0.name), SharedText($0.value)) }
        let vector = texts.map { name, value in
            nghttp2_nv(name: name.start, value: value.start, namelen: name.count, valuelen: value.count, flags: 0)
        }
        var provider = nghttp2_data_provider()
        provider.read_callback = { _, stream, target, room, flags, _, user in
            let (bytes, sent) = client(user).bodies[stream]!
            let count = min(room, bytes.count - sent)
            for index in 0..<count { target![index] = bytes[sent + index] }
            client(user).bodies[stream] = (bytes, sent + count)
            if sent + count == bytes.count { flags!.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue }
            return count
        }
        let id = withExtendedLifetime(texts) {
            body.isEmpty
                ? nghttp2_submit_request(session, nil, vector, vector.count, nil, nil)
                : nghttp2_submit_request(session, nil, vector, vector.count, &provider, nil)
        }
        precondition(id > 0)
        bodies[id] = (body, 0)
    }

    func receive(_ bytes: [UInt8]) -> Bool { nghttp2_session_mem_recv(session, bytes, bytes.count) == bytes.count }

    func pull() -> [UInt8] {
        var all: [UInt8] = []
        while true {
            var frame: UnsafePointer<UInt8>?
            let count = nghttp2_session_mem_send(session, &frame)
            guard count > 0 else { return all }
            all.append(contentsOf: UnsafeBufferPointer(start: frame, count: count))
        }
    }
}

private func client(_ user: UnsafeMutableRawPointer?) -> NGHTTP2Client {
    Unmanaged<NGHTTP2Client>.fromOpaque(user!).takeUnretainedValue()
}

/// A text at a fixed address.
private final class SharedText {
    let start: UnsafeMutablePointer<UInt8>
    let count: Int

    init(_ text: String) {
        let bytes = Array(text.utf8)
        count = bytes.count
        start = .allocate(capacity: max(1, count))
        start.update(from: bytes, count: count)
    }

    deinit { start.deallocate() }
}
