import Foundation
import TestSupport
import TestTraits
import Testing

/// A package of somebody else that depends on the products for apps.
@Suite(.long, .startsProgram, .waits) struct OutsiderTests {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().path

    private static let manifest = """
        // swift-tools-version: 6.2
        import PackageDescription

        let package = Package(
            name: "Outsider", platforms: [.macOS(.v13)],
            dependencies: [.package(name: "carillon", path: "\(root)")],
            targets: [
                .executableTarget(
                    name: "Outsider",
                    dependencies: [
                        .product(name: "DeviceRegistrar", package: "carillon"),
                        .product(name: "RequestQueue", package: "carillon"),
                    ], path: ".", exclude: [], sources: ["main.swift"])
            ])
        """

    private static let program = #"""
        import DeviceRegistrar
        import Foundation
        import RequestQueue

        let arguments = CommandLine.arguments
        let folder = URL(fileURLWithPath: arguments[4])
        guard let server = URL(string: arguments[1]), let secret = KeySecret(arguments[3]),
            let token = PushToken("740f4707bebcf74f9b7c25d48e3358945f6aa01da5ddb387462c7eaf61bb78ad")
        else { exit(1) }
        let health = try await RequestQueue.shared.send(.get(server.appendingPathComponent("healthz")))
        print(health.status)
        let configuration = RegistrarConfiguration(
            server: server, app: "shop", keyID: arguments[2], secret: secret,
            file: folder.appendingPathComponent("outsider.json"))
        let registrar = try DeviceRegistrar(configuration)
        await registrar.register(token, profile: DeviceProfile(user: "ada"))
        await registrar.settle()
        if case .registered = await registrar.status { print("registered") }

        /// The most memory that the process has used, in kilobytes.
        func peak() throws -> Int {
            let lines = try String(contentsOfFile: "/proc/self/status", encoding: .utf8).split(separator: "\n")
            let words = lines.first { $0.hasPrefix("VmHWM") }?.split(separator: " ") ?? []
            return words.count > 1 ? Int(words[1]) ?? 0 : 0
        }
        guard let sink = URL(string: arguments[5]) else { exit(1) }
        let before = try peak()
        var form = MultipartForm()
        form.add("file", file: folder.appendingPathComponent("gigabyte"))
        let uploaded = try await RequestQueue.shared.send(.post(sink, body: .multipart(form)))
        let growth = try peak() - before
        print(String(decoding: uploaded.body, as: UTF8.self), growth < 30_000 ? "flat" : "\(growth) kB")
        """#

    /// A server that counts the bytes of a body.
    private static let sink = """
        import http.server
        class Sink(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                left = int(self.headers["Content-Length"])
                while left:
                    left -= len(self.rfile.read(min(left, 1 << 20)))
                self.send_response(200)
                self.end_headers()
                self.wfile.write(b"all of it")
            def log_message(self, *_):
                pass
        server = http.server.HTTPServer(("127.0.0.1", 0), Sink)
        print(server.server_port, flush=True)
        server.serve_forever()
        """

    @Test func `A package that depends on the products builds, registers a device, and uploads a gigabyte in 30 MB`()
        async throws
    {
        let scene = try await RegistrarScene()
        let directory = try TemporaryDirectory()
        _ = try directory.write("Package.swift", containing: Self.manifest)
        _ = try directory.write("main.swift", containing: Self.program)
        let built = try await ChildProcess.run("swift", ["build", "--package-path", directory.path])
        try #require(built.status == 0, "\(built.output.suffix(2000)) \(built.errors.suffix(2000))")
        let sink = try ChildProcess("python3", ["-c", Self.sink])
        let port = try #require(try await sink.line())
        let file = URL(fileURLWithPath: try directory.write("gigabyte", containing: ""))
        try FileHandle(forWritingTo: file).truncate(atOffset: 1 << 30)
        let ran = try await ChildProcess.run(
            "\(directory.path)/.build/debug/Outsider",
            [scene.server.absoluteString, scene.keyID, scene.secretText, directory.path, "http://127.0.0.1:\(port)/"])
        #expect(ran.output == "200\nregistered\nall of it flat\n", "\(ran.errors)")
        // Nothing of the server is linked, neither its libraries in C nor its targets.
        let libraries = try await ChildProcess.run("readelf", ["-d", "\(directory.path)/.build/debug/Outsider"]).output
        for library in ["zmq", "sqlite", "event", "simdjson", "nghttp2", "ssl"] {
            #expect(!libraries.contains("lib\(library)"), "\(library)")
        }
    }
}
