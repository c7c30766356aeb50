import CPostgreSQL

/// A connection of libpq. Its lifetime ends the connection, without waiting for the server.
///
/// No function blocks: names are resolved before, and the socket does not block.
@safe
final class ConnectionHandle {
    private let library: LibPQ
    private let pointer: OpaquePointer
    /// The notices that libpq found in the input and that ``takeNotices()`` has not returned yet.
    private var notices: [PostgreSQLNotice] = []

    /// The notices that are kept if nobody takes them.
    private static let maxNotices = 64

    enum Polling {
        case wantsRead, wantsWrite, connected, failed
    }

    /// Starts connecting to one address.
    init(_ library: LibPQ, parameters: [(name: String, value: String)]) throws(PostgreSQLError) {
        let names = parameters.map(\.name)
        let values = parameters.map(\.value)
        let pointer = unsafe Self.withStrings(names) { names in
            unsafe Self.withStrings(values) { values in
                unsafe library.functions.PQconnectStartParams(names, values, 0)
            }
        }
        guard let pointer = unsafe pointer else { throw PostgreSQLError(message: "libpq is out of memory") }
        self.library = library
        unsafe self.pointer = pointer
        // The default receiver writes to the standard error stream.
        unsafe _ = library.functions.PQsetNoticeReceiver(
            pointer,
            { context, result in
                guard let context = unsafe context, let result = unsafe result else { return }
                unsafe Unmanaged<ConnectionHandle>.fromOpaque(context).takeUnretainedValue().received(result)
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    deinit {
        unsafe library.functions.PQfinish(pointer)
    }

    private static func withStrings<Result>(
        _ strings: [String], _ body: (UnsafePointer<UnsafePointer<CChar>?>?) -> Result
    ) -> Result {
        let copies = unsafe strings.map { text in
            let bytes = text.utf8CString
            let copy = UnsafeMutablePointer<CChar>.allocate(capacity: bytes.count)
            for (index, byte) in bytes.enumerated() { unsafe (copy + index).initialize(to: byte) }
            return unsafe UnsafePointer(copy)
        }
        defer { unsafe copies.forEach { unsafe $0.deallocate() } }
        return unsafe (copies.map(Optional.some) + [nil]).withUnsafeBufferPointer { unsafe body($0.baseAddress) }
    }

    /// Copies a notice out. libpq still owns the result.
    private func received(_ result: OpaquePointer) {
        guard notices.count < Self.maxNotices else { return }
        unsafe notices.append(ResultFields(library: library, pointer: result).notice)
    }

    func takeNotices() -> [PostgreSQLNotice] {
        guard !notices.isEmpty else { return [] }
        return exchange(&notices, with: [])
    }

    // MARK: State

    var isBad: Bool { unsafe library.functions.PQstatus(pointer) == CONNECTION_BAD }
    var descriptor: CInt { unsafe library.functions.PQsocket(pointer) }
    var processID: CInt { unsafe library.functions.PQbackendPID(pointer) }
    var isEncrypted: Bool { unsafe library.functions.PQsslInUse(pointer) != 0 }

    /// The last error in one line.
    var message: String {
        unsafe library.functions.PQerrorMessage(pointer).map { unsafe String(cString: $0).singleLine } ?? ""
    }

    // MARK: Connecting

    func poll() -> Polling {
        switch unsafe library.functions.PQconnectPoll(pointer) {
        case PGRES_POLLING_READING: .wantsRead
        case PGRES_POLLING_WRITING: .wantsWrite
        case PGRES_POLLING_OK: .connected
        default: .failed
        }
    }

    /// Enters the pipeline mode. Returns false if the connection is lost.
    func enterPipeline() -> Bool {
        unsafe library.functions.PQsetnonblocking(pointer, 1) == 0
            && library.functions.PQenterPipelineMode(pointer) == 1
    }

    // MARK: Sending

    func prepare(_ statement: PostgreSQLStatement) -> Bool {
        unsafe library.functions.PQsendPrepare(
            pointer, statement.name, statement.sql, CInt(truncatingIfNeeded: statement.parameterTypes.count),
            statement.parameterTypes.map(\.rawValue)) == 1
    }

    /// Sends one call with binary parameters, and asks for binary results.
    func send(_ call: borrowing SectionCall) -> Bool {
        let count = CInt(truncatingIfNeeded: unsafe call.values.count)
        let statement = unsafe call.statement
        if statement.isPrepared {
            return unsafe library.functions.PQsendQueryPrepared(
                pointer, statement.name, count, call.values.baseAddress, call.lengths.baseAddress,
                call.formats.baseAddress, 1) == 1
        }
        return unsafe library.functions.PQsendQueryParams(
            pointer, statement.sql, count, statement.parameterTypes.map(\.rawValue), call.values.baseAddress,
            call.lengths.baseAddress, call.formats.baseAddress, 1) == 1
    }

    /// Ends a section: the server commits when it reads this.
    func sync() -> Bool {
        unsafe library.functions.PQpipelineSync(pointer) == 1
    }

    enum Flushing {
        case flushed, wouldBlock, lost
    }

    func flush() -> Flushing {
        switch unsafe library.functions.PQflush(pointer) {
        case 0: .flushed
        case 1: .wouldBlock
        default: .lost
        }
    }

    // MARK: Receiving

    /// Reads what has arrived, and writes what waits. Returns false if the connection is lost.
    func consume() -> Bool {
        unsafe library.functions.PQconsumeInput(pointer) == 1
    }

    /// Whether TLS has decrypted bytes that libpq has not read. The descriptor is not readable for them.
    var hasPendingInput: Bool {
        unsafe withUnsafePointer(to: library.functions) { unsafe CPostgreSQL_pending($0, pointer) > 0 }
    }

    /// Whether the next result has not arrived completely.
    var isBusy: Bool { unsafe library.functions.PQisBusy(pointer) != 0 }

    /// Returns the next result; nil between the results of two statements.
    func nextResult() -> ResultHandle? {
        guard let result = unsafe library.functions.PQgetResult(pointer) else { return nil }
        return unsafe ResultHandle(result, of: library)
    }
}
