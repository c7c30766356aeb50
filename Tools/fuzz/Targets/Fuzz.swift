import Glibc

/// A fuzz target: code that is called with hostile bytes.
struct FuzzTarget: Sendable {
    let name: String
    /// The seeds: small inputs, each of which reaches code that random bytes would not reach soon.
    let seeds: @Sendable () -> [[UInt8]]
    /// Runs one input. It must not trap, leak, hang, or fail a `require`.
    let run: @Sendable (inout FuzzInput) -> Void

    static let all: [FuzzTarget] = [
        http2Client, http2Server, tlsClient, tlsServer, certificate, encoding, http1Request, zeroMQ, json, legacy,
        providerToken, simulator, payload, legacyClient, envelope, signature, receipts,
        clientAcks, clientEvents, clientSpool,
    ]
}

/// Crashes with a message if a property does not hold. Unlike `precondition`, it prints the message in release builds
/// too.
func require(_ condition: Bool, _ message: @autoclosure () -> String) {
    if !condition { fatalError(message()) }
}

// libFuzzer uses one thread, and calls `initialize` once before anything else.
nonisolated(unsafe) private var target: FuzzTarget?

/// Selects the target by the name of the program, because libFuzzer starts it again under that name.
@_cdecl("LLVMFuzzerInitialize")
public func initialize(
    _ count: UnsafeMutablePointer<CInt>,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>>
) -> CInt {
    let words = unsafe (0..<Int(count.pointee)).map { index in
        unsafe arguments.pointee[index].map { unsafe String(cString: $0) } ?? ""
    }
    if words.count == 2, words[1] == "--list" {
        for target in FuzzTarget.all { print(target.name) }
        exit(0)
    }
    let name = words[0].split(separator: "/").last.map(String.init) ?? ""
    guard let found = FuzzTarget.all.first(where: { $0.name == name }) else {
        fail("unknown target \"\(name)\"; run this program through a link with a target's name (see --list)")
    }
    if words.count == 3, words[1] == "--write-seeds" {
        writeSeeds(found.seeds(), to: words[2])
        exit(0)
    }
    unsafe target = found
    return 0
}

@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    var input = unsafe FuzzInput([UInt8](UnsafeBufferPointer(start: start, count: count)))
    unsafe target?.run(&input)
    return 0
}

private func writeSeeds(_ seeds: [[UInt8]], to folder: String) {
    for (index, seed) in seeds.enumerated() {
        let path = "\(folder)/seed-\(index)"
        guard let file = unsafe fopen(path, "w") else { fail("cannot write \(path)") }
        unsafe _ = fwrite(seed, 1, seed.count, file)
        unsafe fclose(file)
    }
}

private func fail(_ text: String) -> Never {
    let line = Array("fuzz: \(text)\n".utf8)
    unsafe _ = write(STDERR_FILENO, line, line.count)
    exit(64)
}
