import Foundation
import TestSupport
import Testing

/// A package of somebody else that depends on the products for apps.
@Suite(.timeLimit(.minutes(15))) struct OutsiderTests {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().path

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

    private static let program = """
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
        """

    @Test func `A package that depends on the products builds, and registers a device`() async throws {
        let scene = try await RegistrarScene()
        let directory = try TemporaryDirectory()
        _ = try directory.write("Package.swift", containing: Self.manifest)
        _ = try directory.write("main.swift", containing: Self.program)
        let built = try await ChildProcess.run("swift", ["build", "--package-path", directory.path])
        try #require(built.status == 0, "\(built.output.suffix(2000)) \(built.errors.suffix(2000))")
        let ran = try await ChildProcess.run(
            "\(directory.path)/.build/debug/Outsider",
            [scene.server.absoluteString, scene.keyID, scene.secretText, directory.path])
        #expect(ran.output == "200\nregistered\n", "\(ran.errors)")
        // Nothing of the server is linked, neither its libraries in C nor its targets.
        let libraries = try await ChildProcess.run("readelf", ["-d", "\(directory.path)/.build/debug/Outsider"]).output
        for library in ["zmq", "sqlite", "event", "simdjson", "nghttp2", "ssl"] {
            #expect(!libraries.contains("lib\(library)"), "\(library)")
        }
    }
}
