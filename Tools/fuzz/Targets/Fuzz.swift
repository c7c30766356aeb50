import Glibc

/// One thing to be fed with hostile bytes.
struct FuzzTarget: Sendable {
    let name: String
    /// Small inputs to begin with, each of which reaches something that chance would not find soon.
    let seeds: @Sendable () -> [[UInt8]]
    /// Returns for every input. What must not be is a trap, a leak, a hang, or a failed `require`.
    let run: @Sendable (inout FuzzInput) -> Void

    static let all: [FuzzTarget] = [
        http2Client, http2Server, tlsClient, tlsServer, certificate, encoding, http1Request, zeroMQ, json, legacy,
        providerToken, simulator, payload, legacyClient, envelope,
    ]
}

/// A property that does not hold is a crash like any other, and says what it was. In release builds `precondition`
/// would not.
func require(_ condition: Bool, _ message: @autoclosure () -> String) {
    if !condition { fatalError(message()) }
}

// libFuzzer calls from one thread, after it has called `initialize` once.
nonisolated(unsafe) private var target: FuzzTarget?

/// The target is chosen by the name under which the program is called, because libFuzzer calls it again by that name.
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
        fail("there is no target \"\(name)\"; call this program by the name of a target, through a link (--list)")
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
