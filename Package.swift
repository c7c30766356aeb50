// swift-tools-version: 6.2
import PackageDescription

/// One list for every target: Swift 6 mode comes with the tools version, these are what lies ahead of it.
let house: [SwiftSetting] = [
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
]
/// `Tools/test` sets this; a user with a newer compiler is not stopped by its new warnings.
let strict: [SwiftSetting] = Context.environment["CARILLON_STRICT"] == nil ? [] : [.treatAllWarnings(as: .error)]
/// For the targets that import C or hold raw memory: every unsafe use is marked, and the compiler finds the one that is
/// not.
let settings = house + strict
let settingsOverC = settings + [.strictMemorySafety()]

/// The targets, by rooms. A target is in the folder ROOM/TARGET. It depends only on targets of its room or of a room that
/// stands before it in this list.
let rooms: KeyValuePairs<String, [Target]> = [
    // One module for each C library.
    "Sources/System": [
        .systemLibrary(name: "CLinux"),
        .systemLibrary(name: "CEvent"),
        .systemLibrary(name: "COpenSSL"),
        .systemLibrary(name: "CNGHTTP2"),
        .systemLibrary(name: "CZeroMQ"),
        .systemLibrary(name: "CSQLite"),
        // Not linked: it has the types of libpq, which PushPostgreSQL loads when a cluster needs it.
        .systemLibrary(name: "CPostgreSQL"),
        // The commit of a release, which Tools/package names. An ordinary build defines nothing, and compiles nothing anew.
        .target(
            name: "CRelease",
            cSettings: Context.environment["CARILLON_COMMIT"].map { [.define("CARILLON_COMMIT", to: $0)] } ?? []),
        .target(
            name: "CSimdJSON",
            linkerSettings: [.linkedLibrary("simdjson")]),
        // One function of OpenSSL, for PushModel, which has no use for the rest.
        .target(name: "CSHA1", linkerSettings: [.linkedLibrary("crypto")]),
    ],
    // Time, text, threads, event loops, and what moves bytes. Nothing here knows what a push is.
    "Sources/Base": [
        .target(name: "JSON5", swiftSettings: settings),
        .target(name: "PushTime", swiftSettings: settings),
        .target(name: "PushText", swiftSettings: settings),
        .target(name: "PushRandom", swiftSettings: settings),
        .target(name: "PushThread", dependencies: ["CLinux"], swiftSettings: settingsOverC),
        .target(name: "PushSQLite", dependencies: ["CSQLite"], swiftSettings: settingsOverC),
        .target(
            name: "PushLoop", dependencies: ["PushThread", "PushTime", "CLinux", "CEvent"],
            swiftSettings: settingsOverC),
        .target(
            name: "PushTransport",
            dependencies: ["PushLoop", "CLinux", "COpenSSL", "CNGHTTP2", "CZeroMQ", "PushTime"],
            swiftSettings: settingsOverC),
        // The client of PostgreSQL, for clusters.
        .target(
            name: "PushPostgreSQL", dependencies: ["PushLoop", "PushTime", "CPostgreSQL"],
            swiftSettings: settingsOverC),
    ],
    // What a push is, as bytes, values and decisions. No input or output, no clock.
    "Sources/Core": [
        .target(name: "PushModel", dependencies: ["PushTime", "CSHA1"], swiftSettings: settingsOverC),
        .target(
            name: "PushWire", dependencies: ["PushModel", "PushTime", "PushText", "CSimdJSON"],
            swiftSettings: settingsOverC),
        .target(
            name: "PushLogic", dependencies: ["PushModel", "PushTime", "PushRandom"], swiftSettings: settingsOverC),
    ],
    // The products that other programs use.
    "Sources/Libraries": [
        .target(name: "ActiveObject", dependencies: ["PushThread", "PushSQLite"], swiftSettings: settingsOverC),
        // What the App Store signs. A library of its own, without the server, its loops and its sockets.
        .target(name: "ReceiptCrypto", dependencies: ["COpenSSL"], swiftSettings: settingsOverC),
        .target(name: "Receipts", dependencies: ["ReceiptCrypto", "PushThread"], swiftSettings: settings),
        .target(name: "ReceiptsNetwork", dependencies: ["Receipts", "PushThread"], swiftSettings: settings),
        // Products for apps. They import Foundation and nothing else, and compile for Apple's platforms, too.
        .target(name: "RequestQueue", swiftSettings: settings),
        .target(name: "DeviceRegistrar", dependencies: ["RequestQueue"], swiftSettings: settings),
        // The library for producers and monitors.
        .target(
            name: "CarillonClient", dependencies: ["PushWire", "PushTransport", "PushLoop", "PushTime"],
            swiftSettings: settingsOverC),
    ],
    // The connections to push services, and one target for each service with all that is its own.
    "Sources/Services": [
        // The actors that hold sessions to a push service.
        .target(
            name: "PushGateways",
            dependencies: ["PushModel", "PushLogic", "PushTransport", "PushLoop", "PushTime", "PushText"],
            swiftSettings: settingsOverC),
        .target(
            name: "APNs",
            dependencies: [
                "PushModel", "PushWire", "PushLogic", "PushGateways", "PushTransport", "PushLoop", "PushTime",
                "PushText",
            ], swiftSettings: settingsOverC),
        .target(
            name: "FCM",
            dependencies: [
                "PushModel", "PushWire", "PushGateways", "PushTransport", "PushLoop", "PushTime",
            ], swiftSettings: settingsOverC),
        .target(
            name: "WebPush",
            dependencies: [
                "PushModel", "PushWire", "PushLogic", "PushGateways", "PushTransport", "PushLoop", "PushTime",
                "PushText", "PushThread", "PushRandom",
            ], swiftSettings: settingsOverC),
    ],
    // What is kept on disk, what runs between producers and gateways, and the server put together.
    "Sources/Server": [
        .target(
            name: "PushStore",
            dependencies: [
                "PushModel", "PushWire", "PushLogic", "PushLoop", "PushTime", "ActiveObject", "PushSQLite",
                "PushPostgreSQL",
            ],
            swiftSettings: settingsOverC),
        .target(
            name: "PushPipeline",
            dependencies: ["PushModel", "PushWire", "PushLogic", "PushTransport", "PushLoop", "PushTime"],
            swiftSettings: settingsOverC),
        .target(
            name: "PushConfiguration",
            dependencies: [
                "APNs", "FCM", "WebPush", "PushPipeline", "PushGateways", "PushLogic", "PushWire", "PushModel",
                "PushText", "PushTransport", "PushPostgreSQL", "PushLoop", "JSON5", "Receipts",
            ], swiftSettings: settings),
        .target(
            name: "PushAPI",
            dependencies: [
                "PushConfiguration", "PushPipeline", "PushStore", "PushLogic", "PushWire", "PushModel", "PushTime",
                "PushText", "PushTransport", "PushLoop", "Receipts",
            ], swiftSettings: settings),
        // The operator console: static files that the plugin compiles into the program.
        .target(
            name: "PushConsole", dependencies: ["PushAPI", "PushText", "PushTransport"],
            exclude: ["Assets"], swiftSettings: settings, plugins: ["EmbedConsole"]),
        .target(
            name: "PushServer",
            dependencies: [
                "APNs", "PushAPI", "PushConfiguration", "PushConsole", "PushPipeline", "PushStore", "PushGateways",
                "PushLogic", "PushWire", "PushModel", "PushTime", "PushTransport", "PushPostgreSQL", "PushLoop",
                "Receipts", "CRelease",
            ], swiftSettings: settings),
    ],
    // The programs, and the simulated push service that one of them starts.
    "Sources/Programs": [
        // A simulated Apple. It imports none of the production codecs, and reads what peers send as raw memory.
        .target(
            name: "PushSimulator", dependencies: ["JSON5", "PushText", "PushRandom", "PushTransport", "PushLoop"],
            swiftSettings: settingsOverC),
        .executableTarget(
            name: "carillon",
            dependencies: [
                "APNs", "PushServer", "PushAPI", "PushConfiguration", "PushStore", "PushGateways", "PushLogic",
                "PushWire", "PushModel", "PushTime", "PushText", "PushRandom", "PushSimulator", "PushTransport",
                "PushPostgreSQL", "PushLoop", "PushThread", "PushSQLite", "Receipts", "WebPush",
            ], swiftSettings: settings),
        .executableTarget(
            name: "Benchmarks",
            dependencies: [
                "ActiveObject", "APNs", "Receipts", "TestSupport", "PushAPI", "PushPipeline", "PushStore",
                "PushGateways", "PushLogic", "PushWire", "PushModel", "PushTime", "PushTransport", "PushLoop",
                "PushPostgreSQL",
            ],
            swiftSettings: settings),
        // A user of CarillonClient that tests and Tools/bench/client start and kill.
        .executableTarget(name: "ClientDriver", dependencies: ["CarillonClient"], swiftSettings: settings),
    ],
    // What tests and benchmarks share.
    "Tests/Support": [
        // Certificates, clocks and peers that tests and benchmarks share.
        .target(
            name: "TestSupport", dependencies: ["PushTransport", "PushLoop", "PushRandom", "PushTime"],
            swiftSettings: settings),
        // The bound on what tests wait for. It imports the testing library, which TestSupport cannot: benchmarks use it.
        .target(name: "TestTraits", dependencies: ["TestSupport"], swiftSettings: settings),
        // An HTTP API with scripted parts behind it, and configurations, for the tests of server and command line.
        .target(
            name: "ServerTestSupport",
            dependencies: [
                "APNs", "PushAPI", "PushConfiguration", "PushWire", "PushModel", "PushTransport", "PushLoop",
                "PushTime", "TestSupport",
            ],
            swiftSettings: settings),
        // Intake, stores and router, put together for the tests of push services. It knows no service.
        .target(
            name: "PipelineTestSupport",
            dependencies: [
                "PushPipeline", "PushStore", "PushLogic", "PushWire", "PushModel", "PushTransport", "PushLoop",
            ],
            swiftSettings: settings),
    ],
    "Tests/Base": [
        .testTarget(
            name: "JSON5Tests", dependencies: ["JSON5", "TestSupport", "TestTraits"], swiftSettings: settings),
        .testTarget(name: "PushSQLiteTests", dependencies: ["PushSQLite"], swiftSettings: settings),
        .testTarget(
            name: "PushLoopTests", dependencies: ["PushLoop", "PushTime", "PushThread", "TestSupport", "TestTraits"],
            swiftSettings: settings),
        .testTarget(
            name: "PushTransportTests",
            dependencies: ["PushTransport", "PushLoop", "PushTime", "TestSupport", "TestTraits", "CNGHTTP2"],
            swiftSettings: settings),
        .testTarget(
            name: "PushPostgreSQLTests",
            dependencies: ["PushPostgreSQL", "PushTransport", "PushLoop", "PushTime", "TestSupport", "TestTraits"],
            swiftSettings: settings),
    ],
    "Tests/Core": [
        .testTarget(
            name: "PushModelTests", dependencies: ["PushModel", "PushTime", "TestSupport"], swiftSettings: settings),
        .testTarget(
            name: "PushWireTests",
            dependencies: ["APNs", "PushWire", "PushModel", "TestSupport", "TestTraits", "PushTime"],
            swiftSettings: settings),
        .testTarget(
            name: "PushLogicTests",
            dependencies: ["APNs", "PushLogic", "PushModel", "PushTime", "TestSupport", "TestTraits"],
            swiftSettings: settings),
        // The part of PushLogic that holds raw memory: the sanitized run has it without the rest.
        .testTarget(
            name: "PushTablesTests",
            dependencies: ["PushLogic", "PushModel", "PushTime", "TestSupport", "TestTraits"],
            swiftSettings: settings),
    ],
    "Tests/Libraries": [
        .testTarget(
            name: "RequestQueueTests", dependencies: ["RequestQueue", "TestSupport", "TestTraits"],
            exclude: ["Servers", "Apple"],
            swiftSettings: settings),
        .testTarget(
            name: "DeviceRegistrarTests",
            dependencies: ["DeviceRegistrar", "RequestQueue", "carillon", "TestSupport", "TestTraits"],
            swiftSettings: settings),
        .testTarget(
            name: "ActiveObjectTests",
            dependencies: ["ActiveObject", "PushSQLite", "PushThread", "TestSupport", "TestTraits"],
            swiftSettings: settings),
        .testTarget(
            name: "ReceiptsTests",
            dependencies: [
                "Receipts", "ReceiptsNetwork", "ReceiptCrypto", "PushTransport", "PushLoop", "PushRandom",
                "TestSupport", "TestTraits",
            ],
            swiftSettings: settings),
        .testTarget(
            name: "CarillonClientTests",
            dependencies: [
                "CarillonClient", "PushWire", "PushTransport", "PushLoop", "PushTime", "PushRandom", "TestSupport",
                "TestTraits", "carillon", "ClientDriver",
            ],
            swiftSettings: settings),
    ],
    "Tests/Services": [
        .testTarget(
            name: "PushGatewaysTests",
            dependencies: [
                "APNs", "PipelineTestSupport", "PushPipeline", "PushStore", "PushGateways", "PushLogic", "PushWire",
                "PushModel", "PushTime", "PushSimulator", "PushTransport", "PushLoop", "TestSupport", "TestTraits",
            ], swiftSettings: settings),
        .testTarget(
            name: "APNsTests",
            dependencies: ["APNs", "PushLogic", "PushWire", "PushModel", "PushTime", "TestSupport", "TestTraits"],
            swiftSettings: settings),
        .testTarget(
            name: "FCMTests",
            dependencies: [
                "FCM", "PipelineTestSupport", "PushSimulator", "PushPipeline", "PushStore", "PushGateways", "PushLogic",
                "PushWire",
                "PushModel",
                "PushTransport", "PushLoop", "PushRandom", "PushTime", "TestSupport", "TestTraits",
            ], swiftSettings: settings),
        .testTarget(
            name: "WebPushTests",
            dependencies: [
                "WebPush", "PushSimulator", "PushGateways", "PushLogic", "PushWire", "PushModel", "PushTransport",
                "PushLoop", "PushRandom", "PushTime", "TestSupport", "TestTraits",
            ], swiftSettings: settings),
        // A push service of the tests alone: what it needs must be enough for any other. So it names no service.
        .testTarget(
            name: "StubServiceTests",
            dependencies: [
                "PipelineTestSupport", "PushPipeline", "PushStore", "PushGateways", "PushLogic", "PushWire",
                "PushModel", "PushTransport",
                "PushLoop", "TestSupport", "TestTraits",
            ], swiftSettings: settings),
    ],
    "Tests/Server": [
        .testTarget(
            name: "PushStoreTests",
            dependencies: [
                "PushStore", "ActiveObject", "PushPostgreSQL", "PushWire", "PushModel", "PushLogic", "PushLoop",
                "PushTime", "PushRandom", "TestSupport", "TestTraits",
            ],
            exclude: ["Formats/Fixtures"], swiftSettings: settings),
        .testTarget(
            name: "PushPipelineTests",
            dependencies: [
                "APNs", "PushPipeline", "PushLogic", "PushWire", "PushModel", "PushTransport", "PushLoop",
                "TestSupport",
                "TestTraits", "PushTime",
            ], swiftSettings: settings),
        .testTarget(
            name: "PushConfigurationTests",
            dependencies: [
                "APNs", "FCM", "WebPush", "PushConfiguration", "PushModel", "PushWire", "PushTransport", "JSON5",
                "TestSupport", "TestTraits", "ServerTestSupport", "PushText", "Receipts",
            ], swiftSettings: settings),
        .testTarget(
            name: "PushAPITests",
            dependencies: [
                "APNs", "PushAPI", "PushStore", "PushLogic", "PushWire", "PushModel", "PushTime", "PushTransport",
                "PushLoop", "PushRandom", "JSON5", "TestSupport", "TestTraits", "ServerTestSupport",
                "PushConfiguration", "FCM", "Receipts",
            ], swiftSettings: settings),
        .testTarget(
            name: "PushConsoleTests",
            dependencies: [
                "PushConsole", "PushModel", "PushTransport", "ServerTestSupport", "TestSupport", "TestTraits",
            ],
            swiftSettings: settings),
        .testTarget(
            name: "PushServerTests",
            dependencies: [
                "APNs", "PushServer", "PushAPI", "PushConfiguration", "PushStore", "PushPipeline", "PushWire",
                "PushModel", "PushLoop", "TestSupport", "TestTraits", "ServerTestSupport", "PushLogic", "PushTime",
                "PushPostgreSQL", "PushTransport",
            ], swiftSettings: settings),
    ],
    "Tests/Programs": [
        .testTarget(
            name: "PushSimulatorTests",
            dependencies: [
                "PushSimulator", "Receipts", "JSON5", "PushTransport", "PushLoop", "PushRandom", "TestSupport",
                "TestTraits",
            ],
            swiftSettings: settings),
        .testTarget(
            name: "CarillonTests",
            dependencies: [
                "carillon", "APNs", "FCM", "PushServer", "PushAPI", "PushConfiguration", "PushPipeline", "PushStore",
                "PushWire", "PushModel", "PushTime", "PushText", "PushSimulator", "PushTransport", "PushLoop", "JSON5",
                "TestSupport", "TestTraits", "ServerTestSupport", "Receipts", "PushPostgreSQL", "PushGateways",
            ],
            exclude: ["Pipeline/Scenes", "Completion/Shells"], swiftSettings: settings),
    ],
]
for (room, targets) in rooms {
    for target in targets { target.path = "\(room)/\(target.name)" }
}

let package = Package(
    name: "carillon",
    // For the products that apps use. The server runs on Linux.
    platforms: [.macOS(.v13), .iOS(.v16), .tvOS(.v16), .watchOS(.v9)],
    products: [
        .executable(name: "carillon", targets: ["carillon"]),
        .library(name: "ActiveObject", targets: ["ActiveObject"]),
        .library(name: "Receipts", targets: ["Receipts"]),
        .library(name: "ReceiptsNetwork", targets: ["ReceiptsNetwork"]),
        .library(name: "RequestQueue", targets: ["RequestQueue"]),
        .library(name: "DeviceRegistrar", targets: ["DeviceRegistrar"]),
        .library(name: "CarillonClient", targets: ["CarillonClient"]),
    ],
    targets: rooms.flatMap(\.value) + [
        .plugin(name: "EmbedConsole", capability: .buildTool(), dependencies: ["ConsoleEmbedder"]),
        .executableTarget(name: "ConsoleEmbedder", path: "Tools/console/Embedder", swiftSettings: settings),
    ],
    cxxLanguageStandard: .cxx17
)

// A sanitizer finds what C and raw memory do wrong. `Tools/test --sanitize=address` builds only the targets that have them,
// what these depend on, and their tests: neither the programs, nor what is written in safe Swift alone.
if Context.environment["CARILLON_PART"] == "memory" {
    // The stores, the machines and the client reach C and raw memory through other targets only, and would take half of the
    // time: they are part of the sanitized run of `Tools/test --long`.
    let omitted: Set = [
        "PushStoreTests", "PushLogicTests", "CarillonClientTests", "JSON5Tests", "PushConfigurationTests",
        "PushAPITests", "PushConsoleTests", "PushServerTests", "CarillonTests", "RequestQueueTests",
        "DeviceRegistrarTests", "StubServiceTests",
        // The simulator is a program for tests, and runs sanitized within those of the gateways.
        "PushSimulatorTests",
    ]
    let programs: Set = ["carillon", "Benchmarks", "ClientDriver"]
    for target in package.targets {
        target.dependencies.removeAll {
            if case .byNameItem(let name, _) = $0 { programs.contains(name) } else { false }
        }
    }
    var needed = Set(package.targets.filter { $0.type == .test && !omitted.contains($0.name) }.map(\.name))
    // A target stands behind those that it depends on.
    for target in package.targets.filter({ $0.type == .test }) + package.targets.reversed()
    where needed.contains(target.name) {
        for case .byNameItem(let name, _) in target.dependencies { needed.insert(name) }
    }
    package.targets.removeAll { !needed.contains($0.name) }
    package.products.removeAll { _ in true }
}

// Fuzz targets need a compiler that instruments everything: `Tools/fuzz/run` sets this, and builds in a folder of its own.
if Context.environment["CARILLON_FUZZ"] != nil {
    package.targets += [
        .systemLibrary(name: "CFuzz", path: "Tools/fuzz/CFuzz"),
        .executableTarget(
            name: "Fuzz",
            dependencies: [
                "APNs", "JSON5", "PushWire", "PushModel", "PushSimulator", "PushTransport", "PushLoop", "CZeroMQ",
                "CFuzz", "Receipts", "ReceiptCrypto", "TestSupport", "CarillonClient", "PushTime",
            ],
            path: "Tools/fuzz/Targets", swiftSettings: settingsOverC),
    ]
}
